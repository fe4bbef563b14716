package redact

import (
	"slices"
	"strings"
)

// maxName bounds how much of a name is examined: real names are short, and a
// long text that looks like a name must not cost more than reading it once.
const maxName = 256

// words is a name split into its words, in lower case.
type words []string

// splitName splits at everything that is neither letter nor digit, at camelCase
// and between letters and digits: "S3ApiKey_2" becomes s 3 api key 2. The words
// p12, base64 and b64 stay whole. It appends to buf.
func splitName(buf words, name string) words {
	name = tail(name, maxName)
	for start := 0; start < len(name); {
		if class(name[start]) == other {
			start++
			continue
		}
		end := wordEnd(name, start)
		buf = append(buf, strings.ToLower(name[start:end]))
		start = end
	}
	return buf
}

// wordEnd returns where the word that begins at start ends.
func wordEnd(name string, start int) int {
	i := start + 1
	for i < len(name) && !boundary(name, i) {
		i++
	}
	// A word with its number, if the two together have a meaning of their own.
	if j := digitsEnd(name, i); j > i && ownNumber(name[start:j]) {
		return j
	}
	return i
}

// boundary reports whether a word ends before name[i].
func boundary(name string, i int) bool {
	before, here := class(name[i-1]), class(name[i])
	switch {
	case before == here && here == upper:
		// APIKey: the last capital before a lower-case letter begins a word.
		return i+1 < len(name) && class(name[i+1]) == lower
	case before == here:
		return false
	case before == upper && here == lower:
		return false
	}
	return true
}

func digitsEnd(name string, i int) int {
	for i < len(name) && class(name[i]) == digit {
		i++
	}
	return i
}

func ownNumber(word string) bool {
	return strings.EqualFold(word, "p12") || strings.EqualFold(word, "base64") || strings.EqualFold(word, "b64")
}

type charClass int

const (
	other charClass = iota // separates words
	lower
	upper
	digit
)

// class classifies a byte. Bytes of letters beyond ASCII count as lower case,
// so that they stay within their word.
func class(b byte) charClass {
	switch {
	case 'a' <= b && b <= 'z', b >= 0x80:
		return lower
	case 'A' <= b && b <= 'Z':
		return upper
	case '0' <= b && b <= '9':
		return digit
	}
	return other
}

// number reports whether a word consists of digits.
func number(word string) bool { return word != "" && class(word[0]) == digit }

// last returns the index of the last meaningful word: a number or the name of
// an environment after it (DB_PASS_2, API_KEY_PROD) is skipped, unless there is
// nothing else. It is -1 for no words at all.
func (w words) last() int {
	i := len(w) - 1
	for i > 0 && (number(w[i]) || environment(w[i])) {
		i--
	}
	return i
}

// before returns the index of the last word before i that is not a number, or
// -1.
func (w words) before(i int) int {
	for i--; i >= 0 && number(w[i]); {
		i--
	}
	return i
}

// has reports whether f holds for any word.
func (w words) has(f func(string) bool) bool { return slices.ContainsFunc(w, f) }

// environment reports whether a word is one that people append to distinguish
// deployments.
func environment(word string) bool {
	switch word {
	case "prod", "production", "live", "stage", "staging", "dev", "development",
		"test", "testing", "qa", "uat", "ci", "local", "sandbox", "preview", "demo":
		return true
	}
	return false
}

// tail returns the last n bytes: the end of a name tells most.
func tail(s string, n int) string {
	if len(s) > n {
		return s[len(s)-n:]
	}
	return s
}

// NameWords splits the name of a variable into its words, in lower case, as
// [SecretName] reads it: at everything that is neither letter nor digit, at
// camelCase, and between letters and digits.
func NameWords(name string) []string { return splitName(nil, name) }
