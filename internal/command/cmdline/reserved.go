package cmdline

import "strings"

// isOperator reports whether text is a control or redirection operator of POSIX
// or bash. Every prefix of an operator is an operator too.
func isOperator(text string) bool {
	switch text {
	case ";", ";;", ";&", ";;&", "&", "&&", "&>", "&>>", "|", "||", "|&", "(", ")",
		"<", "<<", "<<-", "<<<", "<>", "<&", "<(", ">", ">>", ">|", ">&", ">(":
		return true
	}
	return false
}

// isKeyword reports whether a shell does not run text as a program when it
// stands first and unquoted: the reserved words of POSIX.1-2017 XCU 2.4, those
// that it leaves to implementations, and bash's coproc. time is omitted on
// purpose: a simple command follows it, and the program of that name does the
// same.
func isKeyword(text string) bool {
	switch text {
	case "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
		"function", "if", "in", "select", "then", "until", "while", "[[", "]]":
		return true
	}
	return isGrouping(text)
}

// isGrouping reports whether text is a keyword that people take for an
// operator.
func isGrouping(text string) bool {
	return text == "!" || text == "{" || text == "}"
}

// commandWord refuses a first word that a shell would not run as a program.
func (s *splitter) commandWord(w word) error {
	switch {
	case w.quoted:
	case isGrouping(w.text):
		return s.fault(Operator, w.start, w.text)
	case isKeyword(w.text):
		return s.fault(ReservedWord, w.start, w.text)
	}
	if name, ok := assigned(w.text[:w.plain]); ok {
		return s.fault(Assignment, w.start, name)
	}
	return nil
}

// assigned reports whether a shell would take a word with this beginning as an
// assignment, and returns as much of the beginning as shows it. name[ counts as
// well: bash reads an array subscript there, even across blanks.
func assigned(plain string) (string, bool) {
	end := 0
	for end < len(plain) && isName(plain[end]) {
		end++
	}
	if end == 0 || !isNameStart(plain[0]) {
		return "", false
	}
	for _, sign := range []string{"=", "+=", "["} {
		if strings.HasPrefix(plain[end:], sign) {
			return plain[:end] + sign, true
		}
	}
	return "", false
}

func isNameStart(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isName(c byte) bool { return isNameStart(c) || '0' <= c && c <= '9' }
