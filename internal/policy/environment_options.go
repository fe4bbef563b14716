package policy

import (
	"errors"
	"fmt"
	"strings"
)

// harmlessOption is a harmless option as environment-options.txt writes it:
// literal texts between values.
type harmlessOption struct {
	parts []optionPart
	// apart: the value may be the next word.
	apart bool
}

type optionPart struct {
	text string
	kind byte // 0: exactly text; '#' a number; '?' a word; ',' a list of words
}

// readOptions reads a row of environment-options.txt: names, a colon, and the
// options that are harmless in the values of these variables.
func (t *variableTables) readOptions(line string) error {
	names, options, ok := strings.Cut(line, ": ")
	if !ok {
		return errors.New("no colon")
	}
	var list []harmlessOption
	for text := range strings.FieldsSeq(options) {
		o, err := parseOption(text)
		if err != nil {
			return err
		}
		list = append(list, o)
	}
	for name := range strings.FieldsSeq(names) {
		if name == "*" {
			t.general = append(t.general, list...)
			continue
		}
		t.options[name] = append(t.options[name], list...)
	}
	return nil
}

// parseOption parses an option with its signs: # stands for a number, ? for a word,
// and ?, for a list of words with commas between them.
func parseOption(text string) (harmlessOption, error) {
	var o harmlessOption
	for rest := text; rest != ""; {
		i := strings.IndexAny(rest, "#?")
		if i < 0 {
			o.parts = append(o.parts, optionPart{text: rest})
			break
		}
		if i > 0 {
			o.parts = append(o.parts, optionPart{text: rest[:i]})
		}
		kind := rest[i]
		rest = rest[i+1:]
		if kind == '?' && strings.HasPrefix(rest, ",") {
			kind, rest = ',', rest[1:]
		}
		o.parts = append(o.parts, optionPart{kind: kind})
	}
	if len(o.parts) == 0 {
		return o, fmt.Errorf("%q is no option", text)
	}
	name, _, hasValue := strings.Cut(text, "=")
	o.apart = hasValue && strings.HasPrefix(name, "-") && !strings.ContainsAny(name, "#?")
	return o, nil
}

// harmlessOptions reports whether every word of a value is an option that is
// known to be harmless for this variable. Names of the class may also have the
// general ones.
func (t *variableTables) harmlessOptions(name, value string, ofClass bool) bool {
	known, ok := t.options[name]
	if !ok && ofClass {
		known, ok = t.general, true
	}
	if !ok {
		return false
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return r == ' ' })
	if strings.HasSuffix(name, "SAN_OPTIONS") {
		words = strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ':' || r == ',' })
	}
	for i := 0; i < len(words); i++ {
		n := takeOption(known, words[i:])
		if n == 0 {
			return false
		}
		i += n - 1
	}
	return true
}

// takeOption returns how many of the first words belong to one option, 0 if the
// option is not known.
func takeOption(known []harmlessOption, words []string) int {
	for i := range known {
		o := &known[i]
		if o.matches(words[0]) {
			return 1
		}
		if o.apart && len(words) > 1 && !strings.ContainsRune(words[0], '=') && o.matches(words[0]+"="+words[1]) {
			return 2
		}
	}
	return 0
}

// matches reports whether a word is this option. A sign takes the text up to
// the next literal part, and the whole word has to fit: a prefix that fits
// could be followed by anything.
func (o *harmlessOption) matches(word string) bool {
	for i, part := range o.parts {
		switch {
		case part.kind == 0:
			var ok bool
			if word, ok = strings.CutPrefix(word, part.text); !ok {
				return false
			}
		default:
			end := len(word)
			if i+1 < len(o.parts) {
				if end = strings.Index(word, o.parts[i+1].text); end < 0 {
					return false
				}
			}
			if !fitsOption(part.kind, word[:end]) {
				return false
			}
			word = word[end:]
		}
	}
	return word == ""
}

// fitsOption reports whether a value is of a kind.
func fitsOption(kind byte, value string) bool {
	switch kind {
	case '#':
		digits := strings.TrimRight(value, "kKmMgGtTbBcC")
		return len(value)-len(digits) <= 1 && digits != "" && strings.Trim(digits, "0123456789.") == "" && digits[0] != '.'
	case ',':
		for item := range strings.SplitSeq(value, ",") {
			if !fitsOption('?', item) {
				return false
			}
		}
		return true
	}
	if value == "" || value[0] == '-' || value[0] == '.' {
		return false
	}
	for i := range len(value) {
		if c := value[i]; !isName(c) && c != '.' && c != '+' && c != '-' {
			return false
		}
	}
	return true
}
