package redact

import (
	"strings"
	"unicode/utf8"
)

// hasUserinfo reports whether a URL in s contains a password. It gives the same
// answers as the expression for "url-userinfo" in the environment rules
// (E-091), whose large counts make it slow as an expression.
func hasUserinfo(s string) bool {
	for rest := s; ; {
		i := strings.Index(rest, "://")
		if i < 0 {
			return false
		}
		at := len(s) - len(rest) + i
		if schemeBefore(s, at) && passwordAfter(s[at+len("://"):]) {
			return true
		}
		rest = rest[i+1:]
	}
}

// schemeBefore reports whether \b[a-z][a-z0-9+.-]{1,20} matches at the end of
// s[:end].
func schemeBefore(s string, end int) bool {
	for i := end - 1; i >= 0 && end-i <= 21 && schemeByte(s[i]); i-- {
		if end-i >= 2 && class(s[i]) == lower && (i == 0 || !wordByte(s[i-1])) {
			return true
		}
	}
	return false
}

// passwordAfter reports whether [^\s/:@]{0,200}:[^\s/@]{3,200}@ matches at the
// beginning of s.
func passwordAfter(s string) bool {
	user, rest, ok := strings.Cut(s, ":")
	if !ok || strings.ContainsAny(user, " \t\n\f\r/@") || utf8.RuneCountInString(user) > 200 {
		return false
	}
	end := strings.IndexAny(rest, " \t\n\f\r/@")
	if end < 0 || rest[end] != '@' {
		return false
	}
	n := utf8.RuneCountInString(rest[:end])
	return 3 <= n && n <= 200
}

func schemeByte(b byte) bool {
	return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '+' || b == '.' || b == '-'
}

// wordByte reports whether b matches \w.
func wordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}

// findUserinfo adds the user and password of every URL. It finds more than
// [hasUserinfo]: short passwords, passwords that contain @ and /, and long user
// names without a password, which are tokens.
func findUserinfo(s string, hide *spans) {
	end, lastAt := -1, -1 // of the word that contains from
	for from := 0; ; {
		i := strings.Index(s[from:], "://")
		if i < 0 {
			return
		}
		from += i + len("://")
		if from > end {
			end = from + wordLen(s[from:])
			lastAt = from + strings.LastIndexByte(s[from:end], '@')
		}
		if n := userinfoLen(s[from:end], lastAt-from); n > 0 {
			hide.add(from, from+n, "url-userinfo")
			from += n
		}
	}
}

// wordLen returns how far a URL can extend in running text.
func wordLen(s string) int {
	if i := strings.IndexAny(s, " \t\r\n\f\"'<>`"); i >= 0 {
		return i
	}
	return len(s)
}

// userinfoLen returns the length of the user info with a secret at the
// beginning of word, or 0. The last @ of the word is at lastAt; negative if
// there is none.
func userinfoLen(word string, lastAt int) int {
	if lastAt < 0 || word[0] == '[' {
		return 0
	}
	authority := word
	if i := strings.IndexAny(word, "/?#"); i >= 0 {
		authority = word[:i]
	}
	at := strings.LastIndexByte(authority, '@')
	user, password, colon := strings.Cut(authority, ":")
	switch {
	case at < 0 && colon && !port(password):
		return lastAt // user:pa/ss@host; in host:8080/@scope there is a port
	case at < 0:
		return 0
	case colon && len(user) < at:
		return at
	case at >= 20 && strings.ContainsAny(authority[:at], "0123456789"):
		return at
	}
	return 0
}

// port reports whether s can be the port after a host name.
func port(s string) bool {
	for i := range len(s) {
		if class(s[i]) != digit {
			return false
		}
	}
	return true
}
