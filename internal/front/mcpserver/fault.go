package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"tipstaff"
)

// invalid returns an error about an argument of a call.
func invalid(name, format string, args ...any) *tipstaff.Error {
	return &tipstaff.Error{
		Code: tipstaff.InvalidParameters, Rule: "arguments",
		Msg:     fmt.Sprintf(format, args...),
		Details: map[string]any{"parameter": name},
	}
}

func wrongType(p parameter, raw json.RawMessage) error {
	return invalid(p.name, "Argument %q must be %s, not %s.", p.name, p.kind.describe(), jsonType(raw))
}

// unknownArgument names the arguments that the tool has, the most similar
// first.
func unknownArgument(params []parameter, name string) error {
	var names []string
	for _, p := range params {
		if p.absent == "" {
			names = append(names, p.name)
		}
	}
	e := invalid(name, "Argument %.100q is not known to this tool.", name)
	e.Hint = "It takes: " + strings.Join(names, ", ") + "."
	for _, n := range names {
		if strings.EqualFold(plain(n), plain(name)) {
			e.Hint = fmt.Sprintf("Did you mean %q? ", n) + e.Hint
		}
	}
	return e
}

// plain removes differences of spelling from a name: timeoutMs and timeout_ms
// become equal.
func plain(name string) string { return strings.NewReplacer("_", "", "-", "").Replace(name) }

// jsonType names the type of a JSON value for people.
func jsonType(raw json.RawMessage) string {
	switch s := strings.TrimSpace(string(raw[:min(len(raw), 64)])); {
	case s == "":
		return "nothing"
	case s[0] == '"':
		return "a string"
	case s[0] == '{':
		return "an object"
	case s[0] == '[':
		return "a list"
	case s == "null":
		return "null"
	case s == "true", s == "false":
		return "true or false"
	default:
		return "a number"
	}
}
