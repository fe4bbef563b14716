package clients

import (
	"errors"
	"testing"

	"golang.org/x/tools/txtar"
)

// fuzz holds a format to its promise with any text: what it takes is changed
// without damage or refused, and what it has added it takes out again.
func fuzz(f *testing.F, before, client string) {
	a, err := txtar.ParseFile("testdata/before/" + before + ".txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range a.Files {
		f.Add(string(file.Data))
	}
	c, _ := Find(client)
	f.Fuzz(func(t *testing.T, text string) {
		entry, _, err := c.format.get(text)
		if err != nil {
			return
		}
		after, err := setEntry(c.format, text, c.entry.fields(ours), c.entry.foreign(ours))
		if err != nil {
			if refused := (*FormError)(nil); !errors.As(err, &refused) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if again, err := setEntry(c.format, after, c.entry.fields(ours), nil); err != nil || again != after {
			t.Fatalf("%q: the second time: %v\n%q\n%q", text, err, after, again)
		}
		if _, err := removeEntry(c.format, after); err != nil && entry == nil {
			t.Fatalf("%q: it cannot be taken out again: %v\n%q", text, err, after)
		}
	})
}

func FuzzJSONC(f *testing.F)    { fuzz(f, "jsonc", "crush") }
func FuzzTOML(f *testing.F)     { fuzz(f, "toml", "codex") }
func FuzzYAMLMap(f *testing.F)  { fuzz(f, "yaml", "goose") }
func FuzzYAMLList(f *testing.F) { fuzz(f, "yaml_list", "continue") }
