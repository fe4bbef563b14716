package cmdline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Mixed returns the words of a text that have letters of scripts which no language
// writes together, as аdmin with a Cyrillic а. The letters of all but the first script
// are escapes, so that a person sees which they are. The name of a host in an address
// is one word with its dots.
func Mixed(text string) (words []string) {
	if isPlain(text, "") {
		return nil
	}
	for _, host := range hosts.FindAllStringSubmatch(text, -1) {
		words = appendMixed(words, host[1])
	}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) }) {
		words = appendMixed(words, word)
	}
	return words
}

// hosts matches the host of an address.
var hosts = regexp.MustCompile(`(?:://|@)([^\s/:@?#'"]+)`)

func appendMixed(words []string, word string) []string {
	first, names := "", []string{}
	var b strings.Builder
	for _, r := range word {
		name := scriptOf(r)
		if first == "" {
			first = name
		}
		if name == "" || name == first {
			b.WriteRune(r)
			continue
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	if len(names) == 0 {
		return words
	}
	found := b.String() + " (" + first + " and " + strings.Join(names, ", ") + ")"
	if slices.Contains(words, found) {
		return words
	}
	return append(words, found)
}

// together are scripts that are written in one word.
var together = map[string]string{"Hiragana": "Han", "Katakana": "Han", "Hangul": "Han", "Bopomofo": "Han"}

// scriptOf names the script of a letter; "": it is of all.
func scriptOf(r rune) string {
	if r < 0x80 {
		if unicode.IsLetter(r) {
			return "Latin"
		}
		return ""
	}
	if unicode.In(r, unicode.Common, unicode.Inherited) {
		return ""
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			if with := together[name]; with != "" {
				return with
			}
			return name
		}
	}
	return ""
}
