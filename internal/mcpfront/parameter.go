package mcpfront

// parameter describes one argument of a tool. The declared schema and the check
// of a call are both made from it, so they always agree.
type parameter struct {
	name     string
	kind     kind
	required bool
	doc      string
	pattern  string             // of a text, for the schema
	valid    func(string) error // of a text, for the check
	max      int64              // of millis; 0: no ceiling
}

type kind int

const (
	text      kind = iota // a string
	texts                 // a list of strings
	millis                // a positive whole number of milliseconds
	variables             // an object of strings
	count                 // a positive whole number
	boolean               // true or false
)

// describe names the kind in an error for a caller.
func (k kind) describe() string {
	switch k {
	case texts:
		return "a list of strings"
	case millis:
		return "a positive whole number of milliseconds"
	case variables:
		return "an object whose values are strings"
	case count:
		return "a positive whole number"
	case boolean:
		return "true or false"
	default:
		return "a string"
	}
}

func (p parameter) schema() map[string]any {
	s := map[string]any{"description": p.doc}
	switch p.kind {
	case text:
		s["type"] = "string"
		if p.pattern != "" {
			s["pattern"] = p.pattern
		}
	case texts:
		s["type"] = "array"
		s["items"] = map[string]any{"type": "string"}
	case millis:
		s["type"] = "integer"
		s["minimum"] = 1
		if p.max > 0 {
			s["maximum"] = p.max
		}
	case count:
		s["type"] = "integer"
		s["minimum"] = 1
	case boolean:
		s["type"] = "boolean"
	case variables:
		s["type"] = "object"
		s["additionalProperties"] = map[string]any{"type": "string"}
	}
	return s
}

func inputSchema(params []parameter) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, p := range params {
		properties[p.name] = p.schema()
		if p.required {
			required = append(required, p.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}
