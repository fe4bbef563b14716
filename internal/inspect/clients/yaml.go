package clients

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlMap is a YAML file with a mapping of servers by name.
type yamlMap struct{ at string }

// yamlList is a YAML file with a list of servers, each with its name.
type yamlList struct {
	at   string
	head object // what a new file begins with, apart from the user's own
}

// The nodes say where everything stands; the text is changed by lines. To write
// the nodes out again would lay the whole file out anew.

func (f yamlMap) get(text string) (map[string]any, any, error) {
	all, err := decodeYAML(text)
	if err != nil {
		return nil, nil, err
	}
	table, err := serversIn[map[string]any](all, f.at, "mapping")
	if err != nil {
		return nil, nil, err
	}
	value, found := table[ServerName]
	entry, ok := value.(map[string]any)
	if found && !ok {
		return nil, nil, formError("%q in it is not a mapping", ServerName)
	}
	delete(table, ServerName)
	if len(table) == 0 {
		delete(all, f.at)
	}
	return entry, all, nil
}

func (f yamlList) get(text string) (map[string]any, any, error) {
	all, err := decodeYAML(text)
	if err != nil {
		return nil, nil, err
	}
	items, err := serversIn[[]any](all, f.at, "list")
	if err != nil {
		return nil, nil, err
	}
	var entry map[string]any
	others := []any{}
	for _, item := range items {
		m, ok := item.(map[string]any)
		switch {
		case !ok || m["name"] != ServerName:
			others = append(others, item)
		case entry != nil:
			return nil, nil, formError("%q stands twice in it", ServerName)
		default:
			entry = m
		}
	}
	all[f.at] = others
	if len(others) == 0 {
		delete(all, f.at)
	}
	if entry != nil && reflect.DeepEqual(all, f.head.plain()) {
		return entry, map[string]any{}, nil // a file of the entry's own
	}
	return entry, all, nil
}

// serversIn returns the table of servers, empty if there is none.
func serversIn[T any](all map[string]any, key, kind string) (table T, err error) {
	v, there := all[key]
	if there && v != nil {
		var ok bool
		if table, ok = v.(T); !ok {
			return table, formError("%q in it is not a %s", key, kind)
		}
	}
	return table, nil
}

func decodeYAML(text string) (map[string]any, error) {
	_, text = withoutMark(text)
	if strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\r") {
		return nil, formError("a line of it ends with a carriage return alone") // which YAML counts, and few editors
	}
	doc, err := parseYAML(text)
	if err != nil || doc == nil {
		return map[string]any{}, err
	}
	all := map[string]any{}
	if err := doc.Decode(&all); err != nil {
		return nil, fmt.Errorf("it is not YAML that can be read: %v", err)
	}
	return all, nil
}

// parseYAML returns the mapping at the top of a text, nil if the text is empty.
func parseYAML(text string) (*yaml.Node, error) {
	var doc yaml.Node
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if err := yaml.Load([]byte(text), &doc); err != nil {
		if onlyComments(text) {
			return nil, nil
		}
		return nil, fmt.Errorf("it is not YAML: %v", err)
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is YAML, but not a mapping")
	}
	return doc.Content[0], nil
}

func onlyComments(text string) bool {
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); t != "" && t[0] != '#' {
			return false
		}
	}
	return true
}

// pair finds a key of a mapping; -1: there is none.
func pair(m *yaml.Node, key string) int {
	for i := 0; m != nil && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func (f yamlMap) set(text string, entry object, foreign []string) (string, error) {
	return setYAML(text, f.at, nil, entry, foreign, func(table *yaml.Node) *yaml.Node {
		if i := pair(table, ServerName); i >= 0 {
			return table.Content[i+1]
		}
		return nil
	}, func(indent string) []string {
		return append([]string{indent + ServerName + ":"}, yamlLines(entry, indent+"  ")...)
	})
}

func (f yamlList) set(text string, entry object, foreign []string) (string, error) {
	return setYAML(text, f.at, f.head, entry, foreign, f.item, func(indent string) []string {
		lines := yamlLines(entry, indent+"  ")
		lines[0] = indent + "- " + strings.TrimLeft(lines[0], " ")
		return lines
	})
}

// item finds the entry in the list of servers.
func (f yamlList) item(list *yaml.Node) *yaml.Node {
	if list == nil {
		return nil
	}
	for _, item := range list.Content {
		if i := pair(item, "name"); i >= 0 && item.Content[i+1].Value == ServerName {
			return item
		}
	}
	return nil
}

// setYAML adds an entry, or brings the one that find finds up to date. lines
// gives the lines of a new one.
func setYAML(text, at string, head, entry object, foreign []string, find func(*yaml.Node) *yaml.Node, lines func(indent string) []string) (string, error) {
	bom, text := withoutMark(text)
	root, err := parseYAML(text)
	if err != nil {
		return "", err
	}
	t := newYAMLText(text)
	if root == nil {
		if strings.TrimSpace(text) == "" {
			t.append(yamlLines(head, ""))
		}
		t.append(append([]string{at + ":"}, lines("  ")...))
		return bom + t.String(), nil
	}
	if root.Style&yaml.FlowStyle != 0 {
		return "", formError("it is written in braces")
	}
	i := pair(root, at)
	if i < 0 {
		t.append(append([]string{strings.Repeat(" ", root.Content[0].Column-1) + at + ":"}, lines(strings.Repeat(" ", root.Content[0].Column+1))...))
		return bom + t.String(), nil
	}
	table := root.Content[i+1]
	if old := find(table); old != nil {
		if err := t.update(old, entry, foreign); err != nil {
			return "", err
		}
		return bom + t.String(), nil
	}
	if err := t.insert(root, i, lines); err != nil {
		return "", err
	}
	return bom + t.String(), nil
}

func (f yamlMap) without(text string) (string, error) {
	return withoutYAML(text, f.at, func(table *yaml.Node) int {
		if i := pair(table, ServerName); i >= 0 {
			return table.Content[i].Line
		}
		return 0
	}, 2)
}

func (f yamlList) without(text string) (string, error) {
	if _, others, err := f.get(text); err == nil && reflect.DeepEqual(others, map[string]any{}) {
		return "", nil
	}
	return withoutYAML(text, f.at, func(table *yaml.Node) int {
		if item := f.item(table); item != nil {
			return item.Line
		}
		return 0
	}, 1)
}

// withoutYAML takes the lines of an entry out, of which find gives the first; and
// those of the table, if nothing else is in it. An entry of a mapping is two
// nodes, one of a list is one.
func withoutYAML(text, at string, find func(*yaml.Node) int, nodes int) (string, error) {
	bom, text := withoutMark(text)
	root, err := parseYAML(text)
	i := pair(root, at)
	if err != nil || i < 0 {
		return bom + text, err
	}
	table := root.Content[i+1]
	line := find(table)
	if line == 0 {
		return bom + text, nil
	}
	if root.Style&yaml.FlowStyle != 0 || table.Style&yaml.FlowStyle != 0 {
		return "", formError("%q in it is written in braces or brackets", at)
	}
	t := newYAMLText(text)
	if len(table.Content) == nodes {
		t.cut(root.Content[i].Line, t.end(root, i))
		return bom + t.String(), nil
	}
	k := slices.IndexFunc(table.Content, func(n *yaml.Node) bool { return n.Line == line })
	t.cut(line, t.endOf(table, k, nodes, t.end(root, i)))
	return bom + t.String(), nil
}

func (f yamlMap) snippet(entry object) string {
	return strings.Join(append([]string{f.at + ":", "  " + ServerName + ":"}, yamlLines(entry, "    ")...), "\n") + "\n"
}

func (f yamlList) snippet(entry object) string {
	lines := yamlLines(entry, "    ")
	lines[0] = "  - " + strings.TrimLeft(lines[0], " ")
	return strings.Join(append([]string{f.at + ":"}, lines...), "\n") + "\n"
}

func (f yamlMap) blank(text string) bool {
	_, t := withoutMark(text)
	return strings.TrimSpace(t) == ""
}
func (f yamlList) blank(text string) bool {
	_, t := withoutMark(text)
	return strings.TrimSpace(t) == ""
}
