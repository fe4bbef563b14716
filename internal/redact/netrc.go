package redact

import "strings"

// A netrc names machines, and for each a login and a password, in words:
//
//	machine host.example login user password SECRET
//	default login anonymous password SECRET
//
// The words may be arguments, words of one text, or lines.

// netrc goes through words in order. The zero netrc is before the first one.
type netrc struct {
	inside bool   // behind "machine NAME" or "default"
	next   string // what the next word is: a name, a value, or the secret
}

// step judges a word without quotation marks, and reports whether it is a secret.
func (n *netrc) step(word string) (secret bool) {
	switch next := n.next; next {
	case "machine":
		n.inside, n.next = true, ""
		return false
	case "login", "account", "port":
		n.next = ""
		return false
	case "password":
		n.next = ""
		return true
	}
	switch word {
	case "machine":
		n.next = "machine"
	case "default":
		n.inside = true
	case "login", "account", "port", "password":
		if n.inside {
			n.next = word
		}
	case "user", "passwd": // as some programs write them
		if n.inside {
			n.next = map[string]string{"user": "login", "passwd": "password"}[word]
		}
	case "macdef":
	default:
		n.inside = false
	}
	return false
}

// argument judges the next argument of a command.
func (n *netrc) argument(arg string, hide *spans) {
	if strings.ContainsAny(arg, " \t\n") {
		*n = netrc{} // judged by itself
		return
	}
	if n.step(unquoted(arg)) {
		hide.add(0, len(arg), "netrc")
	}
}

// findNetrc adds the passwords of a netrc in a text, and of a line that is only its
// password: the machine may be on a line that is not here.
func findNetrc(s string, hide *spans) {
	if !strings.Contains(s, "passw") {
		return
	}
	var n netrc
	line := 0 // words of the line so far
	first := ""
	for i := 0; i < len(s); {
		from, to, newLine := netrcWord(s, i)
		if from == to {
			break
		}
		if newLine {
			line, first = 0, ""
		}
		word := unquoted(s[from:to])
		line++
		secret := n.step(word)
		if line == 1 {
			first = word
		}
		alone := line == 2 && first == "password" && endsLine(s, to)
		if secret || alone {
			quoteFrom, quoteTo := netrcValue(s, from, to)
			hide.add(quoteFrom, quoteTo, "netrc")
			to = max(to, quoteTo)
		}
		i = to
	}
}

// netrcWord returns the next word from i on, and whether a line begins with it.
// Words are separated by white space, written as it is or as a shell's printf takes
// it: \n, \t.
func netrcWord(s string, i int) (from, to int, newLine bool) {
	for newLine = i == 0; i < len(s); {
		switch {
		case s[i] == '\n' || s[i] == '\r':
			newLine = true
			i++
		case blank(s[i]) || s[i] == '"' || s[i] == '\'':
			i++
		case escapedBlank(s, i):
			newLine = newLine || s[i+1] == 'n'
			i += 2
		default:
			from = i
			for i < len(s) && !blank(s[i]) && !escapedBlank(s, i) && s[i] != '"' && s[i] != '\'' {
				i++
			}
			return from, i, newLine
		}
	}
	return i, i, newLine
}

func escapedBlank(s string, i int) bool {
	return s[i] == '\\' && i+1 < len(s) && strings.IndexByte("ntr", s[i+1]) >= 0
}

// netrcValue returns where the value ends whose first word is s[from:to]: a value in
// quotation marks may have several.
func netrcValue(s string, from, to int) (int, int) {
	if from == 0 || s[from-1] != '"' {
		return from, to
	}
	if end := strings.IndexByte(s[from:], '"'); end >= 0 {
		return from, from + end
	}
	return from, to
}

// endsLine reports whether nothing but blanks and quotation marks comes between i and
// the end of the line.
func endsLine(s string, i int) bool {
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\n', s[i] == '\r', escapedBlank(s, i) && s[i+1] == 'n':
			return true
		case !blank(s[i]) && s[i] != '"' && s[i] != '\'':
			return false
		}
	}
	return true
}
