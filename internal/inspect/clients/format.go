package clients

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// format is a way of writing files of servers.
type format interface {
	// snippet is the entry as a person would paste it into an empty file.
	snippet(entry object) string
}

// reader is a format that can be read.
type reader interface {
	format
	// entry returns the entry, nil if there is none.
	entry(text string) (map[string]any, error)
}

// editor is a format whose files are changed without damage.
type editor interface {
	reader
	// set returns the text with the entry in it: added, or its own keys brought
	// up to date and the others left. foreign are keys that it must not have.
	set(text string, entry object, foreign []string) (string, error)
	// without returns the text without the entry, and without the table of
	// servers if nothing else is in that.
	without(text string) (string, error)
	// get returns the entry, nil if there is none, and everything else.
	get(text string) (entry map[string]any, rest any, err error)
}

// FormError says that a file is sound, but written in a way that is not changed
// by a program.
type FormError struct{ What string }

func (e *FormError) Error() string { return e.What }

func formError(format string, args ...any) error {
	return &FormError{What: fmt.Sprintf(format, args...)}
}

// setEntry puts the entry in and proves that nothing else has changed.
func setEntry(f editor, text string, entry object, foreign []string) (string, error) {
	_, before, err := f.get(text)
	if err != nil {
		return "", err
	}
	after, err := f.set(text, entry, foreign)
	if err != nil {
		return "", err
	}
	got, rest, err := f.get(after)
	switch {
	case err != nil:
		return "", formError("the changed text could not be read back: %v", err)
	case !reflect.DeepEqual(before, rest):
		return "", formError("the change would have touched more than the entry")
	case !contains(got, entry):
		return "", formError("the entry could not be read back as it was written")
	}
	return after, nil
}

// removeEntry takes the entry out and proves that nothing else has changed.
func removeEntry(f editor, text string) (string, error) {
	_, before, err := f.get(text)
	if err != nil {
		return "", err
	}
	after, err := f.without(text)
	if err != nil {
		return "", err
	}
	got, rest, err := f.get(after)
	if err != nil || got != nil || !reflect.DeepEqual(before, rest) {
		return "", formError("the change would have touched more than the entry")
	}
	return after, nil
}

// contains reports whether a decoded entry says everything that o says.
func contains(m map[string]any, o object) bool {
	for _, f := range o {
		v, ok := m[f.key]
		nested, isObject := f.value.(object)
		if !ok {
			return false
		}
		if isObject {
			if inner, ok := v.(map[string]any); !ok || !contains(inner, nested) {
				return false
			}
		} else if !reflect.DeepEqual(v, plainValue(f.value)) {
			return false
		}
	}
	return true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// newlineOf is the line ending of a text: that of its first line.
func newlineOf(text string) string {
	if i := strings.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

const mark = "\ufeff" // the byte order mark that some editors of Windows write

// withoutMark takes a byte order mark off.
func withoutMark(text string) (before, rest string) {
	if rest, ok := strings.CutPrefix(text, mark); ok {
		return mark, rest
	}
	return "", text
}

// splice is a part of a text that is replaced. Of two at one place, the first in
// the list stands first.
type splice struct {
	from, to int
	text     string
}

// apply carries splices out. They must not overlap.
func apply(text string, splices []splice) string {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.from - b.from })
	var b bytes.Buffer
	at := 0
	for _, s := range splices {
		b.WriteString(text[at:s.from])
		b.WriteString(s.text)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}
