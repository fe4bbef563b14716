package clients

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlText is a YAML text as lines, which nodes name by numbers from 1 on. Lines
// that are taken out or added keep the numbers of the others.
type yamlText struct {
	lines   []string
	newline string
	cuts    map[int]bool
	added   map[int][]string // behind the line of that number
	last    []string
}

func newYAMLText(text string) *yamlText {
	return &yamlText{lines: slices.Collect(strings.Lines(text)), newline: newlineOf(text), cuts: map[int]bool{}, added: map[int][]string{}}
}

func (t *yamlText) append(lines []string) { t.last = append(t.last, lines...) }

func (t *yamlText) String() string {
	var b strings.Builder
	add := func(lines []string) {
		if s := b.String(); len(lines) > 0 && s != "" && !strings.HasSuffix(s, "\n") {
			b.WriteString(t.newline)
		}
		for _, l := range lines {
			b.WriteString(l + t.newline)
		}
	}
	add(t.added[0])
	for i, l := range t.lines {
		if !t.cuts[i+1] {
			b.WriteString(l)
		}
		add(t.added[i+1])
	}
	add(t.last)
	return b.String()
}

// cut takes lines out: from one up to, without it, another.
func (t *yamlText) cut(from, to int) {
	for i := from; i < to; i++ {
		t.cuts[i] = true
	}
}

// end is the number of the line behind the value of a pair of the top mapping.
func (t *yamlText) end(root *yaml.Node, i int) int {
	return t.endOf(root, i, 2, len(t.lines)+1)
}

// endOf is the number of the line behind the part of a node that begins at its
// content i and has so many nodes. What is behind the whole node begins at the
// line behind. Empty lines and comments at the end belong to what follows,
// unless they are the end of a text in several lines.
func (t *yamlText) endOf(n *yaml.Node, i, nodes, behind int) int {
	if i+nodes < len(n.Content) {
		behind = n.Content[i+nodes].Line
	}
	first := n.Content[i]
	block := blockScalar(n.Content[i+nodes-1])
	for behind > first.Line+1 {
		line := strings.TrimRight(t.lines[behind-2], "\r\n")
		body := strings.TrimLeft(line, " ")
		comment := strings.HasPrefix(body, "#") && (!block || len(line)-len(body) < first.Column)
		marker := line == "..." || line == "---"
		if strings.TrimSpace(body) != "" && !comment && !marker {
			break
		}
		behind--
	}
	return behind
}

// blockScalar reports whether the last scalar of a node is a text in several
// lines, in which # is no comment.
func blockScalar(n *yaml.Node) bool {
	for len(n.Content) > 0 {
		n = n.Content[len(n.Content)-1]
	}
	return n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
}

// insert adds an entry at the end of the table of servers, which is the value of
// the pair i of root.
func (t *yamlText) insert(root *yaml.Node, i int, lines func(indent string) []string) error {
	key, table := root.Content[i], root.Content[i+1]
	indent := strings.Repeat(" ", key.Column+1)
	if len(table.Content) == 0 {
		line := t.lines[key.Line-1]
		if table.Kind == yaml.AliasNode || table.Line != key.Line && table.Line != 0 && table.ShortTag() != "!!null" {
			return formError("%q in it is written in a way that is not changed here", key.Value)
		}
		if table.Style&yaml.FlowStyle != 0 {
			from := table.Column - 1
			to := from + strings.IndexAny(line[from:], "]}") + 1
			if to == from || strings.TrimSpace(strings.Trim(line[from:to], "[]{}")) != "" {
				return formError("%q in it is written in a way that is not changed here", key.Value)
			}
			t.lines[key.Line-1] = strings.TrimRight(line[:from], " ") + line[to:]
		}
		t.added[key.Line] = lines(indent)
		return nil
	}
	if table.Style&yaml.FlowStyle != 0 {
		return formError("%q in it is written in braces or brackets", key.Value)
	}
	line := t.lines[table.Content[0].Line-1]
	indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
	at := t.end(root, i) - 1
	t.added[at] = append(t.added[at], lines(indent)...)
	return nil
}

// update brings an entry up to date, key by key.
func (t *yamlText) update(old *yaml.Node, want object, foreign []string) error {
	if old.Kind != yaml.MappingNode || old.Style&yaml.FlowStyle != 0 || len(old.Content) == 0 {
		return formError("the entry in it is written in braces")
	}
	behind := t.behind(old)
	end := t.endOf(old, len(old.Content)-2, 2, behind)
	for _, key := range foreign {
		if i := pair(old, key); i >= 0 {
			t.replace(old, i, behind, nil)
		}
	}
	indent := strings.Repeat(" ", old.Content[0].Column-1)
	var missing object // behind all else, also behind what is new in a mapping at the end
	for _, f := range want {
		i := pair(old, f.key)
		if i < 0 {
			missing = append(missing, f)
			continue
		}
		value := old.Content[i+1]
		var got any
		if err := value.Decode(&got); err != nil {
			return formError("%s of the entry cannot be read: %v", f.key, err)
		}
		nested, isObject := f.value.(object)
		m, isMap := got.(map[string]any)
		switch {
		case isObject && isMap && contains(m, nested), !isObject && reflect.DeepEqual(got, plainValue(f.value)):
		case isObject && isMap && len(m) > 0:
			if err := t.update(value, nested, nil); err != nil {
				return err
			}
		default:
			t.replace(old, i, behind, yamlLines(object{f}, indent))
		}
	}
	t.added[end-1] = append(t.added[end-1], yamlLines(missing, indent)...)
	return nil
}

// behind is the number of the line behind a mapping: of the first line after its
// last key that is indented less.
func (t *yamlText) behind(m *yaml.Node) int {
	column := m.Content[0].Column - 1
	for n := m.Content[len(m.Content)-2].Line + 1; n <= len(t.lines); n++ {
		line := strings.TrimRight(t.lines[n-1], "\r\n")
		body := strings.TrimLeft(line, " ")
		list := len(line)-len(body) == column && strings.HasPrefix(body, "-")
		if body != "" && !strings.HasPrefix(body, "#") && len(line)-len(body) <= column && !list {
			return n
		}
	}
	return len(t.lines) + 1
}

// replace puts lines in the place of a pair. What stands before the key on its
// line, the dash of a list, stays.
func (t *yamlText) replace(m *yaml.Node, i, behind int, lines []string) {
	key := m.Content[i]
	from, to := key.Line, t.endOf(m, i, 2, behind)
	prefix := t.lines[from-1][:key.Column-1]
	if len(lines) > 0 {
		lines[0] = prefix + lines[0][len(prefix):]
	}
	t.cut(from, to)
	t.added[from-1] = append(t.added[from-1], lines...)
}

// yamlLines writes the pairs of a mapping in lines.
func yamlLines(o object, indent string) []string {
	var lines []string
	for _, f := range o {
		nested, ok := f.value.(object)
		switch {
		case ok && len(nested) > 0:
			lines = append(append(lines, indent+yamlScalar(f.key)+":"), yamlLines(nested, indent+"  ")...)
		case ok:
			lines = append(lines, indent+yamlScalar(f.key)+": {}")
		default:
			lines = append(lines, indent+yamlScalar(f.key)+": "+yamlValue(f.value))
		}
	}
	return lines
}

func yamlValue(v any) string {
	switch v := v.(type) {
	case string:
		return yamlScalar(v)
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = yamlScalar(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// plainYAML is text that no reader of YAML takes for anything else without
// quotes.
var plainYAML = pattern(`^(/[A-Za-z0-9_./+-]*|[A-Za-z_][A-Za-z0-9_.-]*( [A-Za-z0-9_.-]+)*)$`)

var wordsOfYAML = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan", "inf"}

func yamlScalar(s string) string {
	if plainYAML().MatchString(s) && !slices.Contains(wordsOfYAML, strings.ToLower(s)) {
		return s
	}
	return quoteJSON(s)
}
