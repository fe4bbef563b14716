package clients

import (
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// denial is the setting by which a client takes its own shell away from the model, as its
// vendor documents it. It is a format whose entry is the tools that are denied. Such a
// setting does not say who wrote it, so the journal does.
type denial struct {
	at    string // the keys that lead to it, with blanks between them
	tools string // the tools, with blanks between them
	value string // of each tool, which is a key there; "": the tools are items of a list there
}

// FindShell returns the client of a name with the file in which its own shell is denied.
func FindShell(name string) (Client, bool) {
	c, ok := FindHook(name)
	if !ok {
		c, ok = Find(name)
	}
	d := c.denial
	c.format, c.entry = d, dialect{stdio: func(Entry) object { return d.all() }}
	return c, ok && d != denial{}
}

// all is the entry that denies each tool.
func (f denial) all() (o object) {
	for tool := range strings.FieldsSeq(f.tools) {
		o = append(o, field{tool, f.value})
	}
	return o
}

// only is the format for some of the tools.
func (f denial) only(tools []string) denial {
	f.tools = strings.Join(tools, " ")
	return f
}

// denied are the tools that a text denies.
func (f denial) denied(text string) (tools []string) {
	if f.tools == "" {
		return nil
	}
	entry, _ := f.entry(text) // nil with an error
	return sortedKeys(entry)
}

// way returns the values to which the keys lead, the root first, as far as there are any.
func (f denial) way(text string) (way []hujson.Value, err error) {
	_, v, err := jsonc("").root(text)
	if err != nil {
		return nil, err
	}
	keys := strings.Fields(f.at)
	for i := 0; ; i++ {
		way = append(way, v)
		o, isObject := v.Value.(*hujson.Object)
		if _, isList := v.Value.(*hujson.Array); i == len(keys) && isList && f.value == "" {
			return way, nil
		}
		if !isObject || i == len(keys) && f.value == "" {
			return nil, formError("%q in it is not what its vendor documents", keys[i-1])
		}
		if i == len(keys) {
			return way, nil
		}
		m, err := member(o, keys[i])
		if err != nil || m < 0 {
			return way, err
		}
		v = o.Members[m].Value
	}
}

func (f denial) entry(text string) (map[string]any, error) {
	entry, _, err := f.get(text)
	return entry, err
}

func (f denial) get(text string) (map[string]any, any, error) {
	_, text = withoutMark(text)
	if strings.TrimSpace(text) == "" {
		return nil, map[string]any{}, nil
	}
	if _, err := f.way(text); err != nil {
		return nil, nil, err
	}
	all, err := decoded(text)
	if err != nil {
		return nil, nil, err
	}
	entry := map[string]any{}
	f.take(all, strings.Fields(f.at), entry)
	if len(entry) == 0 {
		entry = nil
	}
	return entry, all, nil
}

// take moves the tools out of a table into the entry, and drops what is empty then.
func (f denial) take(table map[string]any, keys []string, entry map[string]any) {
	for _, tool := range f.all() {
		if len(keys) == 0 && table[tool.key] == f.value {
			entry[tool.key] = f.value
			delete(table, tool.key)
		}
	}
	if len(keys) == 0 {
		return
	}
	switch inner := table[keys[0]].(type) {
	case map[string]any:
		if f.take(inner, keys[1:], entry); len(inner) == 0 {
			delete(table, keys[0])
		}
	case []any:
		rest := slices.DeleteFunc(inner, func(item any) bool {
			tool, is := item.(string)
			if is = is && f.all().has(tool); is {
				entry[tool] = f.value
			}
			return is
		})
		if table[keys[0]] = rest; len(rest) == 0 {
			delete(table, keys[0])
		}
	}
}

func (f denial) set(text string, entry object, _ []string) (string, error) {
	bom, text := withoutMark(text)
	style := styleOf(text)
	if strings.TrimSpace(text) == "" {
		return bom + style.value(f.whole(entry), "") + style.newline, nil
	}
	for _, tool := range entry {
		way, err := f.way(text)
		if err != nil {
			return "", err
		}
		last := way[len(way)-1]
		if list, ok := last.Value.(*hujson.Array); ok {
			if indexOf(list, tool.key) < 0 {
				text = style.push(text, list, last, tool.key)
			}
			continue
		}
		if o, ok := last.Value.(*hujson.Object); ok && len(way) > len(strings.Fields(f.at)) {
			if m, err := member(o, tool.key); err != nil || m >= 0 && !same(o.Members[m].Value, f.value) {
				return "", formError("%q in it says something of your own about %q; change that to %q", strings.ReplaceAll(f.at, " ", "."), tool.key, f.value)
			}
		}
		missing := entry
		if f.value != "" {
			missing = object{tool}
		}
		root, v, err := jsonc("").root(text)
		if err != nil {
			return "", err
		}
		if text, err = style.update(text, root, v, f.whole(missing), nil); err != nil {
			return "", err
		}
	}
	return bom + text, nil
}

// whole is an object with the entry in it, and nothing else.
func (f denial) whole(entry object) object {
	var inner any = entry
	if f.value == "" {
		var tools []string
		for _, tool := range entry {
			tools = append(tools, tool.key)
		}
		inner = tools
	}
	for _, key := range slices.Backward(strings.Fields(f.at)) {
		inner = object{{key, inner}}
	}
	o, _ := inner.(object)
	return o
}

func indexOf(list *hujson.Array, item string) int {
	return slices.IndexFunc(list.Elements, func(v hujson.Value) bool { return same(v, item) })
}

func (f denial) without(text string) (string, error) {
	bom, text := withoutMark(text)
	for _, tool := range f.all() {
		way, err := f.way(text)
		if err != nil {
			return "", err
		}
		keys := strings.Fields(f.at)
		if len(way) <= len(keys) {
			break
		}
		list, isList := way[len(keys)].Value.(*hujson.Array)
		if !isList {
			keys = append(keys, tool.key)
		} else if i := indexOf(list, tool.key); i < 0 {
			continue
		} else if len(list.Elements) > 1 || !list.AfterExtra.IsStandard() || !list.Elements[0].BeforeExtra.IsStandard() {
			text = cutItem(text, list, i)
			continue
		}
		text = cutEmpty(text, way, keys)
	}
	return bom + text, nil
}

// cutEmpty takes out what keys lead to, with all around it in which nothing else is.
func cutEmpty(text string, way []hujson.Value, keys []string) string {
	for i := len(keys) - 1; i >= 0; i-- {
		o, _ := way[i].Value.(*hujson.Object) // [denial.way] takes nothing else
		m, err := member(o, keys[i])
		if err != nil || m < 0 {
			break
		}
		if i == 0 || len(o.Members) > 1 || !o.AfterExtra.IsStandard() || !o.Members[m].Name.BeforeExtra.IsStandard() {
			return cutMember(text, o, way[i], m)
		}
	}
	return text
}

func (f denial) snippet(entry object) string {
	return style{newline: "\n", unit: "  "}.value(f.whole(entry), "") + "\n"
}
