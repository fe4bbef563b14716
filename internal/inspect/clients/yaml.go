package clients

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// yamlMap is a YAML file with a mapping of servers by name. It is read and not changed.
type yamlMap struct{ at string }

// yamlList is a YAML file with a list of servers, each with its name. It is read and not
// changed.
type yamlList struct {
	at   string
	head object // what a file of the entry's own begins with
}

func (f yamlMap) entry(text string) (map[string]any, error) {
	all, err := decodeYAML(text)
	if err != nil {
		return nil, err
	}
	table, err := serversIn[map[string]any](all, f.at, "mapping")
	if err != nil {
		return nil, err
	}
	value, found := table[ServerName]
	entry, ok := value.(map[string]any)
	if found && !ok {
		return nil, formError("%q in it is not a mapping", ServerName)
	}
	return entry, nil
}

func (f yamlList) entry(text string) (entry map[string]any, err error) {
	all, err := decodeYAML(text)
	if err != nil {
		return nil, err
	}
	items, err := serversIn[[]any](all, f.at, "list")
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		m, ok := item.(map[string]any)
		switch {
		case !ok || m["name"] != ServerName:
		case entry != nil:
			return nil, formError("%q stands twice in it", ServerName)
		default:
			entry = m
		}
	}
	return entry, nil
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

func (f yamlMap) snippet(entry object) string {
	return strings.Join(append([]string{f.at + ":", "  " + ServerName + ":"}, yamlLines(entry, "    ")...), "\n") + "\n"
}

func (f yamlList) snippet(entry object) string {
	lines := yamlLines(entry, "    ")
	lines[0] = "  - " + strings.TrimLeft(lines[0], " ")
	head := "# A file of its own begins with: " + strings.Join(yamlLines(f.head, ""), "; ")
	return strings.Join(append([]string{head, f.at + ":"}, lines...), "\n") + "\n"
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

// pattern compiles a regular expression when it is needed: a server never does.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
