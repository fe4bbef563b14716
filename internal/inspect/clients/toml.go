package clients

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// toml is a file in which every server is a table [at.tipstaff].
type toml struct{ at string }

func (f toml) header() []string { return []string{f.at, ServerName} }

// begins reports whether keys begin with those of head.
func begins(keys, head []string) bool {
	return len(keys) >= len(head) && slices.Equal(keys[:len(head)], head)
}

// tomlEntry is the entry as it stands in a text.
type tomlEntry struct {
	all    []tomlLine
	own    []int // the lines of the entry's tables, in order
	table  int   // the line of its header; -1: there is none
	values map[string]any
}

// find finds the entry. The other ways in which TOML could write it are refused:
// they could not be changed without a look at the whole.
func (f toml) find(text string) (tomlEntry, error) {
	e := tomlEntry{table: -1}
	var err error
	if e.all, err = readTOML(text); err != nil {
		return e, err
	}
	var table []string
	array := false
	for i, l := range e.all {
		if l.header != nil {
			table, array = l.header, l.array
			if array && (begins(f.header(), table) || begins(table, f.header())) {
				return e, formError("%s in it is a list of tables", strings.Join(table, "."))
			}
			if begins(table, f.header()) {
				if e.values == nil {
					e.values = map[string]any{}
				}
				e.own = append(e.own, i)
				if len(table) == 2 {
					e.table = i
				} else {
					under(e.values, table[2:])
				}
			}
			continue
		}
		full := append(slices.Clone(table), l.key...)
		if begins(table, f.header()) {
			e.own = append(e.own, i)
			under(e.values, full[2:len(full)-1])[full[len(full)-1]] = l.value
		} else if !array && (begins(full, f.header()) || begins(f.header(), full)) {
			return e, formError("%s in it is not written as a table of its own, [%s]", strings.Join(full, "."), strings.Join(f.header(), "."))
		}
	}
	if e.values != nil && e.table < 0 {
		return e, formError("[%s] in it has tables below it and no own", strings.Join(f.header(), "."))
	}
	return e, nil
}

// under returns the mapping below a path of keys, and makes what is missing.
func under(m map[string]any, keys []string) map[string]any {
	for _, k := range keys {
		inner, ok := m[k].(map[string]any)
		if !ok {
			inner = map[string]any{}
			m[k] = inner
		}
		m = inner
	}
	return m
}

func (f toml) get(text string) (map[string]any, any, error) {
	_, text = withoutMark(text)
	e, err := f.find(text)
	if err != nil {
		return nil, nil, err
	}
	others := []string{}
	for i, l := range e.all {
		if !slices.Contains(e.own, i) {
			others = append(others, strings.TrimRight(text[l.from:l.to], "\r\n"))
		}
	}
	return e.values, others, nil
}

func (f toml) set(text string, entry object, foreign []string) (string, error) {
	bom, text := withoutMark(text)
	nl := newlineOf(text)
	e, err := f.find(text)
	if err != nil {
		return "", err
	}
	if e.values == nil {
		between := ""
		if text != "" && !strings.HasSuffix(text, "\n") {
			between = nl
		}
		if strings.TrimSpace(text) != "" {
			between += nl
		}
		return bom + text + between + f.table(entry, nl), nil
	}
	changes, err := e.update(text, e.table, e.values, entry, foreign, nl)
	return bom + apply(text, changes), err
}

// update brings the table whose header is a line up to date.
func (e tomlEntry) update(text string, header int, values map[string]any, want object, foreign []string, nl string) (changes []splice, err error) {
	end := e.all[header].to
	for _, i := range e.keys(header) {
		l := e.all[i]
		end = l.to
		if slices.Contains(foreign, l.key[0]) {
			changes = append(changes, splice{l.from, l.to, ""})
		}
	}
	added := ""
	for _, f := range want {
		old, there := values[f.key]
		i := e.key(header, f.key)
		nested, isObject := f.value.(object)
		m, isTable := old.(map[string]any)
		switch {
		case there && isObject && isTable && contains(m, nested), there && !isObject && reflect.DeepEqual(old, plainValue(f.value)):
		case i >= 0 && isObject && isTable:
			changes = append(changes, splice{e.all[i].valueAt[0], e.all[i].valueAt[1], tomlValue(merged(m, nested))})
		case i >= 0:
			changes = append(changes, splice{e.all[i].valueAt[0], e.all[i].valueAt[1], tomlValue(f.value)})
		case there && isObject && e.below(header, f.key) >= 0:
			inner, err := e.update(text, e.below(header, f.key), m, nested, nil, nl)
			if err != nil {
				return nil, err
			}
			changes = append(changes, inner...)
		case there:
			return nil, formError("%s of the entry is written with dots", f.key)
		default:
			added += tomlKey(f.key) + " = " + tomlValue(f.value) + nl
		}
	}
	if added != "" {
		if !strings.HasSuffix(text[:end], "\n") {
			added = nl + added
		}
		changes = append(changes, splice{end, end, added})
	}
	return changes, nil
}

// merged is a table in braces with the keys of want brought up to date.
func merged(old map[string]any, want object) object {
	all := object{}
	for _, k := range sortedKeys(old) {
		if !want.has(k) {
			all = append(all, field{k, old[k]})
		}
	}
	return append(all, want...)
}

// keys are the lines with keys below a header.
func (e tomlEntry) keys(header int) (lines []int) {
	for i := header + 1; i < len(e.all) && e.all[i].header == nil; i++ {
		lines = append(lines, i)
	}
	return lines
}

// key is the line of a key below a header; -1: there is none.
func (e tomlEntry) key(header int, name string) int {
	for _, i := range e.keys(header) {
		if len(e.all[i].key) == 1 && e.all[i].key[0] == name {
			return i
		}
	}
	return -1
}

// below is the header of the table name in the table of another header.
func (e tomlEntry) below(header int, name string) int {
	want := append(slices.Clone(e.all[header].header), name)
	return slices.IndexFunc(e.all, func(l tomlLine) bool { return slices.Equal(l.header, want) })
}

func (f toml) without(text string) (string, error) {
	bom, text := withoutMark(text)
	e, err := f.find(text)
	if err != nil || e.values == nil {
		return bom + text, err
	}
	var cuts []splice
	for _, i := range e.own {
		l := e.all[i]
		from := l.from
		if l.header != nil {
			from = blankBefore(text, l.from)
		}
		cuts = append(cuts, splice{from, l.to, ""})
	}
	return bom + apply(text, cuts), nil
}

// blankBefore is the beginning of the empty line before an offset, if there is
// one.
func blankBefore(text string, at int) int {
	for _, nl := range []string{"\r\n", "\n"} {
		if before, ok := strings.CutSuffix(text[:at], nl); ok && (before == "" || strings.HasSuffix(before, "\n")) {
			return len(before)
		}
	}
	return at
}

func (f toml) table(entry object, nl string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]%s", strings.Join(f.header(), "."), nl)
	for _, fl := range entry {
		b.WriteString(fl.key + " = " + tomlValue(fl.value) + nl)
	}
	return b.String()
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return quoteTOML(v)
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = quoteTOML(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case object:
		parts := make([]string, len(v))
		for i, f := range v {
			parts[i] = tomlKey(f.key) + " = " + tomlValue(f.value)
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return fmt.Sprint(v)
}

func tomlKey(k string) string {
	if bareKey().FindString(k) == k && k != "" {
		return k
	}
	return quoteTOML(k)
}

func (f toml) snippet(entry object) string { return f.table(entry, "\n") }

func (f toml) blank(text string) bool {
	_, text = withoutMark(text)
	return strings.TrimSpace(text) == ""
}
