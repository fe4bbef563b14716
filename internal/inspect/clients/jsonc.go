package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonc is JSON with comments and trailing commas; its value is the key of the
// table of servers. Files without comments stay plain JSON.
type jsonc string

// What a text may hold. The parser calls itself for each level, and keeps a hundred bytes
// and more for each value: a text of one megabyte would end this program, and one of
// sixty would fill the memory.
const (
	maxLevels = 1000
	maxValues = 1 << 19
)

// parseJSONC parses a text of bounds. Nothing else here gives a text to the parser first.
func parseJSONC(text string) (hujson.Value, error) {
	if err := bounded(text); err != nil {
		return hujson.Value{}, err
	}
	return hujson.Parse([]byte(text))
}

// bounded counts what a parser would find before its first error.
func bounded(text string) error {
	levels, values := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			end := ""
			if strings.HasPrefix(text[i:], "//") {
				end = "\n"
			} else if strings.HasPrefix(text[i:], "/*") {
				end = "*/"
			}
			if end != "" {
				n := strings.Index(text[i+2:], end)
				if n < 0 {
					return nil
				}
				i += 1 + n + len(end)
			}
		case '[', '{':
			levels++
			values++
		case ']', '}':
			levels--
		case ',':
			values++
		}
		if levels > maxLevels {
			return fmt.Errorf("it has more than %d levels", maxLevels)
		}
		if values > maxValues {
			return fmt.Errorf("it has more than %d values", maxValues)
		}
	}
	return nil
}

// root parses a text whose top must be an object.
func (jsonc) root(text string) (*hujson.Object, hujson.Value, error) {
	v, err := parseJSONC(text)
	if err != nil {
		return nil, v, fmt.Errorf("it is not JSON: %v", strings.TrimPrefix(err.Error(), "hujson: "))
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, v, errors.New("it is JSON, but not an object in braces")
	}
	return o, v, nil
}

// decoded is a text that the parser has taken, for comparisons.
func decoded(text string) (all map[string]any, err error) {
	plain, err := hujson.Standardize([]byte(text))
	if err == nil {
		d := json.NewDecoder(strings.NewReader(string(plain)))
		d.UseNumber()
		err = d.Decode(&all)
	}
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %v", err)
	}
	return all, nil
}

// member finds a key. A key that stands twice means different things to
// different readers.
func member(o *hujson.Object, key string) (int, error) {
	found := -1
	for i, m := range o.Members {
		if name, ok := m.Name.Value.(hujson.Literal); ok && name.String() == key {
			if found >= 0 {
				return -1, formError("the key %q stands twice in it", key)
			}
			found = i
		}
	}
	return found, nil
}

// servers finds the table of servers and the entry in it; -1 for what is not
// there.
func (f jsonc) servers(root *hujson.Object) (table *hujson.Object, at, entry int, err error) {
	if at, err = member(root, string(f)); err != nil || at < 0 {
		return nil, at, -1, err
	}
	table, ok := root.Members[at].Value.Value.(*hujson.Object)
	if !ok {
		return nil, at, -1, formError("%q in it is not an object in braces", string(f))
	}
	entry, err = member(table, ServerName)
	return table, at, entry, err
}

func (f jsonc) entry(text string) (map[string]any, error) {
	entry, _, err := f.get(text)
	return entry, err
}

func (f jsonc) get(text string) (map[string]any, any, error) {
	_, text = withoutMark(text)
	if strings.TrimSpace(text) == "" {
		return nil, map[string]any{}, nil
	}
	root, _, err := f.root(text)
	if err != nil {
		return nil, nil, err
	}
	if _, _, _, err := f.servers(root); err != nil {
		return nil, nil, err
	}
	all, err := decoded(text)
	if err != nil {
		return nil, nil, err
	}
	table, _ := all[string(f)].(map[string]any)
	value, found := table[ServerName]
	entry, ok := value.(map[string]any)
	if found && !ok {
		return nil, nil, formError("%q in it is not an object in braces", ServerName)
	}
	delete(table, ServerName)
	if len(table) == 0 {
		delete(all, string(f))
	}
	return numbers(entry), all, nil
}

// numbers makes whole numbers of an entry int, as entries are written.
func numbers(m map[string]any) map[string]any {
	for k, v := range m {
		if n, ok := v.(json.Number); ok {
			if i, err := n.Int64(); err == nil {
				m[k] = int(i)
			}
		}
	}
	return m
}

func (f jsonc) set(text string, entry object, foreign []string) (string, error) {
	bom, text := withoutMark(text)
	style := styleOf(text)
	if strings.TrimSpace(text) == "" {
		whole := object{{string(f), object{{ServerName, entry}}}}
		return bom + style.value(whole, "") + style.newline, nil
	}
	root, v, err := f.root(text)
	if err != nil {
		return "", err
	}
	table, at, i, err := f.servers(root)
	switch {
	case err != nil:
		return "", err
	case at < 0:
		return bom + style.insert(text, root, v, string(f), object{{ServerName, entry}}), nil
	case i < 0:
		return bom + style.insert(text, table, root.Members[at].Value, ServerName, entry), nil
	}
	old, ok := table.Members[i].Value.Value.(*hujson.Object)
	if !ok {
		return "", formError("%q in it is not an object in braces", ServerName)
	}
	text, err = style.update(text, old, table.Members[i].Value, entry, foreign)
	return bom + text, err
}

// update brings the keys of an object up to date. Each step parses the text
// anew, because places move.
func (s style) update(text string, old *hujson.Object, v hujson.Value, entry object, foreign []string) (string, error) {
	for _, key := range foreign {
		i, err := member(old, key)
		if err != nil {
			return "", err
		}
		if i >= 0 {
			text = cutMember(text, old, v, i)
			if old, v, err = again(text, v.StartOffset); err != nil {
				return "", err
			}
		}
	}
	for _, f := range entry {
		i, err := member(old, f.key)
		if err != nil {
			return "", err
		}
		nested, isObject := f.value.(object)
		switch {
		case i < 0:
			text = s.insert(text, old, v, f.key, f.value)
		case same(old.Members[i].Value, f.value):
			continue
		case isObject:
			inner, ok := old.Members[i].Value.Value.(*hujson.Object)
			if !ok {
				return "", formError("%q of the entry is not an object in braces", f.key)
			}
			if text, err = s.update(text, inner, old.Members[i].Value, nested, nil); err != nil {
				return "", err
			}
		default:
			at := old.Members[i].Value
			text = apply(text, []splice{{at.StartOffset, at.EndOffset, s.value(f.value, s.indentAt(text, old.Members[i].Name.StartOffset))}})
		}
		if old, v, err = again(text, v.StartOffset); err != nil {
			return "", err
		}
	}
	return text, nil
}

// again finds the object that begins at an offset in a changed text.
func again(text string, start int) (*hujson.Object, hujson.Value, error) {
	top, err := parseJSONC(text)
	if err != nil {
		return nil, top, formError("the changed text could not be read back: %v", err)
	}
	for v := range top.All() {
		if o, ok := v.Value.(*hujson.Object); ok && v.StartOffset == start {
			return o, *v, nil
		}
	}
	return nil, top, formError("the entry could not be found again")
}

// same reports whether a value of the file says what v says.
func same(old hujson.Value, v any) bool {
	c := old.Clone()
	c.Standardize()
	var got any
	d := json.NewDecoder(strings.NewReader(string(c.Pack())))
	d.UseNumber()
	if d.Decode(&got) != nil {
		return false
	}
	if m, ok := got.(map[string]any); ok {
		o, isObject := v.(object)
		return isObject && contains(m, o)
	}
	wrapped := numbers(map[string]any{"x": got})
	return reflect.DeepEqual(wrapped["x"], plainValue(v))
}

func (f jsonc) without(text string) (string, error) {
	bom, text := withoutMark(text)
	root, v, err := f.root(text)
	if err != nil {
		return "", err
	}
	table, at, i, err := f.servers(root)
	if err != nil || i < 0 {
		return bom + text, err
	}
	if len(table.Members) == 1 && table.AfterExtra.IsStandard() && table.Members[i].Name.BeforeExtra.IsStandard() && len(root.Members) > 1 {
		return bom + cutMember(text, root, v, at), nil
	}
	return bom + cutMember(text, table, root.Members[at].Value, i), nil
}

func (f jsonc) snippet(entry object) string {
	return style{newline: "\n", unit: "  "}.value(object{{string(f), object{{ServerName, entry}}}}, "") + "\n"
}
