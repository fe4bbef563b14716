package gitconfig

import "strings"

// Harmless returns a configuration with the entries of a text that a command
// may write, in order. It is empty if the text cannot be parsed.
func (r Repository) Harmless(text []byte) []byte {
	entries, err := Parse(text)
	if err != nil {
		return nil
	}
	var b strings.Builder
	header := ""
	for i := range entries {
		e := &entries[i]
		if !r.harmless(e) {
			continue
		}
		if h := e.header(); h != header {
			header = h
			b.WriteString(h + "\n")
		}
		b.WriteString("\t" + e.Name)
		if !e.NoValue {
			b.WriteString(" = \"" + escape.Replace(e.Value) + "\"")
		}
		b.WriteString("\n")
	}
	return []byte(b.String())
}

// header returns the section line above an entry.
func (e Entry) header() string {
	if !e.HasSub {
		return "[" + e.Section + "]"
	}
	return "[" + e.Section + " \"" + escapeName.Replace(e.Sub) + "\"]"
}

var (
	escape     = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`)
	escapeName = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)
