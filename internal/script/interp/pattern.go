//go:build linux

package interp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// matching says how patterns are read.
type matching struct {
	extended bool // @(…), !(…) and their like
	fold     bool // case does not matter
	utf8     bool
	path     bool // of a name in a directory: a leading dot is matched by a dot only
}

func (s *Shell) matching() matching {
	return matching{extended: s.options.extglob, fold: s.options.nocasematch, utf8: s.utf8()}
}

// matches reports whether a pattern matches all of a text.
func matches(pattern, text string, m matching) bool {
	if m.path && strings.HasPrefix(text, ".") && !strings.HasPrefix(strings.TrimPrefix(pattern, `\`), ".") {
		return false
	}
	return m.from(pattern, text)
}

func (m matching) first(text string) (rune, int) {
	if m.utf8 || text == "" {
		return utf8.DecodeRuneInString(text)
	}
	return rune(text[0]), 1
}

func (m matching) from(pattern, text string) bool {
	star, starText := "", ""
	starred := false
	for {
		if m.extended && len(pattern) > 1 && strings.IndexByte("@?*+!", pattern[0]) >= 0 && pattern[1] == '(' {
			if end := closing(pattern[1:]); end > 0 {
				if m.group(pattern[0], pattern[2:end+1], pattern[end+2:], text) {
					return true
				}
				if !m.again(&pattern, &text, star, &starText, starred) {
					return false
				}
				continue
			}
		}
		if strings.HasPrefix(pattern, "*") {
			for strings.HasPrefix(pattern, "*") && !(m.extended && strings.HasPrefix(pattern, "*(")) {
				pattern = pattern[1:]
			}
			star, starText, starred = pattern, text, true
			if pattern == "" {
				return true
			}
			continue
		}
		if text == "" && pattern == "" {
			return true
		}
		if text != "" && pattern != "" {
			if p, n, ok := m.one(pattern, text); ok {
				pattern, text = pattern[p:], text[n:]
				continue
			}
		}
		if !m.again(&pattern, &text, star, &starText, starred) {
			return false
		}
	}
}

// again goes back to the last star and lets it take one character more.
func (m matching) again(pattern, text *string, star string, starText *string, starred bool) bool {
	if !starred || *starText == "" {
		return false
	}
	_, n := m.first(*starText)
	*starText = (*starText)[n:]
	*pattern, *text = star, *starText
	return true
}

// one matches one character; p and n are how long it is in the pattern and the text.
func (m matching) one(pattern, text string) (p, n int, ok bool) {
	r, n := m.first(text)
	switch pattern[0] {
	case '?':
		return 1, n, true
	case '[':
		if end, yes := m.set(pattern, r); end > 0 {
			return end, n, yes
		}
	case '\\':
		if len(pattern) > 1 {
			c, w := m.first(pattern[1:])
			return 1 + w, n, m.same(c, r)
		}
	}
	c, w := m.first(pattern)
	return w, n, m.same(c, r)
}

func (m matching) same(a, b rune) bool {
	return a == b || m.fold && unicode.ToLower(a) == unicode.ToLower(b)
}

// set matches [...]; end is its length, 0 if there is no end.
func (m matching) set(pattern string, r rune) (end int, yes bool) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, yes != negated
		}
		if strings.HasPrefix(pattern[i:], "[:") {
			if at := strings.Index(pattern[i:], ":]"); at > 0 {
				yes = yes || class(pattern[i+2:i+at], r, m.fold)
				i += at + 2
				continue
			}
		}
		low, n := m.member(pattern[i:])
		i += n
		high := low
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			high, n = m.member(pattern[i+1:])
			i += 1 + n
		}
		yes = yes || low <= r && r <= high || m.fold && (low <= unicode.ToLower(r) && unicode.ToLower(r) <= high || low <= unicode.ToUpper(r) && unicode.ToUpper(r) <= high)
	}
	return 0, false
}

func (m matching) member(pattern string) (rune, int) {
	if pattern[0] == '\\' && len(pattern) > 1 {
		r, n := m.first(pattern[1:])
		return r, n + 1
	}
	return m.first(pattern)
}

func class(name string, r rune, fold bool) bool {
	ascii := r < 128
	switch name {
	case "alpha":
		return unicode.IsLetter(r)
	case "digit":
		return r >= '0' && r <= '9'
	case "alnum":
		return unicode.IsLetter(r) || r >= '0' && r <= '9' || !ascii && unicode.IsDigit(r)
	case "upper":
		return unicode.IsUpper(r) || fold && unicode.IsLower(r)
	case "lower":
		return unicode.IsLower(r) || fold && unicode.IsUpper(r)
	case "space":
		return r == ' ' || r >= '\t' && r <= '\r'
	case "blank":
		return r == ' ' || r == '\t'
	case "punct":
		return ascii && r > ' ' && r < 127 && !unicode.IsLetter(r) && !unicode.IsDigit(r) || !ascii && unicode.IsPunct(r)
	case "print":
		return r >= ' ' && r != 127
	case "graph":
		return r > ' ' && r != 127
	case "cntrl":
		return r < ' ' || r == 127
	case "xdigit":
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
	case "word":
		return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	return false
}
