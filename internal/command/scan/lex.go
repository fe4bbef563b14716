package scan

import (
	"strings"
	"unicode/utf8"
)

// A line that another program's shell will run is judged once, by its text. No
// parser is right about every text, and people's shells are Bash, dash or zsh, which
// read some texts differently. So a second reader stands beside the parser: this
// lexer knows only the forms that all three shells read alike, and calls everything
// else unknown. A line is plain where both readers find the same commands.

// lexed is a simple command of a plain text.
type lexed struct {
	line, column int
	join         string // the operator before it: "", ";", "&&", "||" or "|"
	words        []string
	redirects    []lexedRedirect
}

// lexedRedirect is a redirection: its number ("" if it has none), its operator, and
// the word or here-document behind it.
type lexedRedirect struct{ number, operator, word, text string }

// lexer reads a plain text.
type lexer struct {
	text     string
	at       int
	commands []*lexed
	open     *lexed    // the command that is being read; nil between commands
	join     string    // before the next command
	waits    []waiting // here-documents whose texts follow the line
}

// waiting says where the text of a here-document belongs.
type waiting struct {
	end string
	of  *lexed
	at  int
}

// lex returns the commands of a text that is plain, or a [*Fault] for the first
// thing that is not.
func lex(text string) ([]*lexed, error) {
	l := &lexer{text: text}
	for l.at < len(text) {
		if fault := l.token(); fault != nil {
			return nil, fault
		}
	}
	switch {
	case len(l.waits) > 0:
		return nil, l.unknown("a here-document without an end")
	case l.open == nil && l.join != "" && l.join != ";":
		return nil, l.unknown("an operator without a command behind it")
	}
	return l.commands, nil
}

// unknown is the fault of a text that only one of the readers may understand.
func (l *lexer) unknown(what string) *Fault {
	line := 1 + strings.Count(l.text[:l.at], "\n")
	return &Fault{Line: line, Column: l.at - strings.LastIndexByte(l.text[:l.at], '\n'), What: what + " is not plain to every shell"}
}

// token reads what begins at l.at.
func (l *lexer) token() *Fault {
	switch c := l.text[l.at]; c {
	case ' ', '\t':
		l.at++
	case '\n':
		return l.newline()
	case '#':
		return l.comment()
	case ';', '&', '|':
		return l.operator()
	case '<', '>':
		return l.redirect("")
	default:
		return l.word()
	}
	return nil
}

// newline ends a command, and reads the here-documents of its line.
func (l *lexer) newline() *Fault {
	l.at++
	for _, w := range l.waits {
		rest := l.text[l.at:]
		begin := l.at
		for {
			line, after, more := strings.Cut(rest, "\n")
			if line == w.end {
				w.of.redirects[w.at].text = l.text[begin:l.at]
				l.at = min(l.at+len(line)+1, len(l.text))
				break
			}
			if !more {
				return l.unknown("a here-document without an end")
			}
			l.at += len(line) + 1
			rest = after
		}
	}
	l.waits = nil
	if l.open != nil {
		l.open, l.join = nil, ";"
	}
	return nil
}

// comment passes over a comment. It must be alone on its line: behind other words
// readers differ. One that ends in a backslash is joined with the next line by some.
func (l *lexer) comment() *Fault {
	before := l.text[strings.LastIndexByte(l.text[:l.at], '\n')+1 : l.at]
	comment, _, _ := strings.Cut(l.text[l.at:], "\n")
	if strings.Trim(before, " \t") != "" || len(l.waits) > 0 || strings.HasSuffix(comment, `\`) || !plainText(comment) {
		return l.unknown("this comment")
	}
	l.at += len(comment)
	return nil
}

// operator reads what joins two commands.
func (l *lexer) operator() *Fault {
	for _, op := range []string{"&&", "||", ";", "|"} {
		rest, is := strings.CutPrefix(l.text[l.at:], op)
		if !is {
			continue
		}
		if l.open == nil || rest != "" && strings.IndexByte(";&|", rest[0]) >= 0 {
			break
		}
		l.at += len(op)
		l.open, l.join = nil, op
		return nil
	}
	return l.unknown("this operator")
}

// redirect reads a redirection. Behind > and < only words are plain: other bytes make
// further operators, and not the same ones in each shell.
func (l *lexer) redirect(number string) *Fault {
	r := lexedRedirect{number: number}
	for _, op := range []string{"<<", ">>", ">&", "<", ">"} {
		if strings.HasPrefix(l.text[l.at:], op) {
			r.operator = op
			break
		}
	}
	c := l.command()
	start := l.at
	l.at += len(r.operator)
	switch r.operator {
	case "<<":
		end, rest, is := strings.Cut(strings.TrimPrefix(l.text[l.at:], "'"), "'")
		if number != "" || !is || l.at == len(l.text) || l.text[l.at] != '\'' || end == "" || strings.Trim(end, letters) != "" || !delimited(rest) {
			l.at = start
			return l.unknown("this here-document")
		}
		l.at += len(end) + 2
		r.word = end
		l.waits = append(l.waits, waiting{end, c, len(c.redirects)})
	case ">&":
		if l.at == len(l.text) || strings.IndexByte("012-", l.text[l.at]) < 0 || !delimited(l.text[l.at+1:]) || strings.IndexByte("<>", (l.text[l.at+1:] + " ")[0]) >= 0 {
			l.at = start
			return l.unknown("this redirection")
		}
		r.word = l.text[l.at : l.at+1]
		l.at++
	default:
		for l.at < len(l.text) && (l.text[l.at] == ' ' || l.text[l.at] == '\t') {
			l.at++
		}
		word, _, fault := l.pieces()
		if fault != nil {
			return fault
		}
		// <1-5> is a pattern of zsh, so no redirection follows another without a blank.
		if word == "" || strings.IndexByte("!|&=", word[0]) >= 0 || l.at < len(l.text) && strings.IndexByte("<>", l.text[l.at]) >= 0 {
			l.at = start
			return l.unknown("this redirection")
		}
		r.word = word
	}
	c.redirects = append(c.redirects, r)
	return nil
}

// command returns the command that is being read, or begins one.
func (l *lexer) command() *lexed {
	if l.open == nil {
		l.open = &lexed{join: l.join}
		l.commands = append(l.commands, l.open)
		l.join = ""
	}
	return l.open
}

// word reads a word, or the number of a redirection.
func (l *lexer) word() *Fault {
	start := l.at
	text, quoted, fault := l.pieces()
	if fault != nil {
		return fault
	}
	digits := !quoted && strings.Trim(text, "0123456789") == ""
	if l.at < len(l.text) && (l.text[l.at] == '<' || l.text[l.at] == '>') && digits {
		if text != "0" && text != "1" && text != "2" {
			return l.unknown("a further descriptor")
		}
		return l.redirect(text)
	}
	c := l.command()
	if len(c.words) == 0 {
		c.line, c.column = 1+strings.Count(l.text[:start], "\n"), start-strings.LastIndexByte(l.text[:start], '\n')
	}
	c.words = append(c.words, text)
	return nil
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

// pieces reads a word: plain bytes and quoted texts, up to a blank or an operator.
func (l *lexer) pieces() (word string, quoted bool, _ *Fault) {
	var out strings.Builder
	for l.at < len(l.text) && !delimited(l.text[l.at:]) {
		c := l.text[l.at]
		switch {
		case strings.IndexByte(letters+"./:=,@%+-", c) >= 0:
			if before := out.String(); c == '=' && (before == "" || strings.IndexByte("=:", before[len(before)-1]) >= 0) {
				return "", false, l.unknown("= at the start of a word or behind = and :, where zsh may put a path,")
			}
			out.WriteByte(c)
			l.at++
		case c == '\'' || c == '"':
			text, after, is := strings.Cut(l.text[l.at+1:], string(c))
			switch {
			case !is, c == '"' && strings.ContainsAny(text, "$`\\!"), !plainText(text):
				return "", false, l.unknown("this quoted text")
			case c == '\'' && strings.HasPrefix(after, "'"): // by an option of zsh, '' within quotes is a quote
				return "", false, l.unknown("a quoted text right behind another")
			}
			out.WriteString(text)
			l.at += len(text) + 2
			quoted = true
		default:
			return "", false, l.unknown(unplainByte(l.text[l.at:]))
		}
	}
	return out.String(), quoted, nil
}

// unplainByte names the character that is not plain.
func unplainByte(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if r < ' ' || r == 0x7f || r == utf8.RuneError && size <= 1 {
		return "a control character"
	}
	if strings.IndexByte("$`\\!", text[0]) >= 0 {
		return string(r) + " outside of single quotes"
	}
	return string(r) + " outside of quotes"
}

// delimited reports whether a word or an operator has ended where rest begins.
func delimited(rest string) bool { return rest == "" || strings.IndexByte(" \t\n;&|<>", rest[0]) >= 0 }

// plainText reports whether quoted text holds only characters that every reader
// passes on: no control characters but tabs and line ends.
func plainText(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f }) < 0
}
