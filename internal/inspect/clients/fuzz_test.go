package clients

import (
	"errors"
	"testing"

	"golang.org/x/tools/txtar"
)

// FuzzJSONC holds the format to its promise with any text: what it takes is changed
// without damage or refused, and what it has added it takes out again.
func FuzzJSONC(f *testing.F) {
	a, err := txtar.ParseFile("testdata/before/jsonc.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range a.Files {
		f.Add(string(file.Data))
	}
	c, _ := Find("crush")
	f.Fuzz(func(t *testing.T, text string) {
		format := editorOf(t, c)
		entry, err := format.entry(text)
		if err != nil {
			return
		}
		after, err := setEntry(format, text, c.entry.fields(ours), c.entry.foreign(ours))
		if err != nil {
			if refused := (*FormError)(nil); !errors.As(err, &refused) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := setEntry(format, after, c.entry.fields(ours), nil); err != nil || again != after {
			t.Fatalf("%q: the second time: %v\n%q\n%q", text, err, after, again)
		}
		if _, err := removeEntry(format, after); err != nil && entry == nil {
			t.Fatalf("%q: it cannot be taken out again: %v\n%q", text, err, after)
		}
	})
}
