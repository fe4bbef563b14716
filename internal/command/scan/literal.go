package scan

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// literal returns the value of a word that no expansion changes, with its quotes
// removed as Bash does.
func literal(w *syntax.Word) (string, bool) {
	if w == nil {
		return "", false
	}
	if lit := w.Lit(); lit != "" && !strings.ContainsAny(lit, "\\*?[]{}~$`") {
		return lit, true // nearly every word
	}
	var l literalWord
	for _, p := range w.Parts {
		if !l.part(p) {
			return "", false
		}
	}
	if l.expands() {
		return "", false
	}
	return l.value.String(), true
}

// literalWord is a word while it is read.
type literalWord struct {
	value strings.Builder
	// plain is the word with each quoted byte as q, to find what expands.
	plain strings.Builder
}

func (l *literalWord) quoted(text string) {
	l.value.WriteString(text)
	l.plain.WriteString(strings.Repeat("q", len(text)))
}

// part appends one part of a word, and reports whether its text is known before
// the script runs.
func (l *literalWord) part(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.Lit:
		return l.unquoted(p.Value)
	case *syntax.SglQuoted:
		text := p.Value
		if p.Dollar {
			var ok bool
			if text, ok = ansi(text); !ok {
				return false
			}
		}
		l.quoted(text)
		return true
	case *syntax.DblQuoted:
		if p.Dollar {
			return false // the locale may translate it
		}
		for _, q := range p.Parts {
			lit, ok := q.(*syntax.Lit)
			if !ok || !l.double(lit.Value) {
				return false
			}
		}
		return true
	}
	return false
}

// unquoted appends text without quotes, and takes out the backslashes as Bash
// does: the character behind one counts as quoted, and a line end disappears.
func (l *literalWord) unquoted(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			l.value.WriteByte(text[i])
			l.plain.WriteByte(text[i])
			continue
		}
		if i++; i == len(text) {
			return false
		}
		if text[i] != '\n' {
			l.quoted(text[i : i+1])
		}
	}
	return true
}

// double reads text in double quotes, where a backslash counts only before some
// characters.
func (l *literalWord) double(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			if i+1 == len(text) {
				return false
			}
			if strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
				i++
				if text[i] == '\n' {
					continue
				}
			}
		}
		l.quoted(text[i : i+1])
	}
	return true
}

// expands reports whether Bash may expand the word: as a pattern, by braces, or
// by a tilde.
func (l *literalWord) expands() bool {
	p := l.plain.String()
	if strings.ContainsAny(p, "*?$`") {
		return true
	}
	if i := strings.IndexByte(p, '['); i >= 0 && strings.IndexByte(p[i:], ']') >= 0 {
		return true
	}
	if i := strings.IndexByte(p, '{'); i >= 0 && strings.IndexByte(p[i:], '}') >= 0 && braces(l.value.String()) {
		return true
	}
	for i := range len(p) {
		if p[i] == '~' && (i == 0 || p[i-1] == '=' || p[i-1] == ':') {
			return true
		}
	}
	return false
}

// braces reports whether a word with unquoted braces may be several words.
func braces(value string) bool {
	return strings.Contains(value, ",") || strings.Contains(value, "..")
}
