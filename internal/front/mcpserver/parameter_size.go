package mcpserver

import (
	"encoding/json"
	"fmt"

	"tipstaff"
	"tipstaff/internal/output/terminal"
	"tipstaff/internal/strictjson"
)

// The size of a terminal, where a caller says nothing, and at most.
const (
	usualRows, usualColumns = 24, 80
	mostRows, mostColumns   = terminal.MostRows, terminal.MostColumns
)

func sizeSchema() map[string]any {
	return map[string]any{"type": "object"}
}

// sizeOf reads a terminal or its size; nil for false.
func sizeOf(p parameter, raw json.RawMessage) (*tipstaff.TerminalSize, error) {
	var on bool
	if p.kind == onTerminal && strictjson.Unmarshal(raw, &on) == nil {
		if !on {
			return nil, nil
		}
		return &tipstaff.TerminalSize{Rows: usualRows, Columns: usualColumns}, nil
	}
	if raw[0] != '{' {
		return nil, wrongType(p, raw)
	}
	size := map[string]int{}
	members, err := objectMembers(raw)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		most, known := map[string]int{"rows": mostRows, "cols": mostColumns}[m.Name]
		if !known {
			return nil, invalid(p.name, "Argument %q has rows and cols, and no %.40q.", p.name, m.Name)
		}
		n, err := wholeNumber(parameter{name: p.name + "." + m.Name, kind: count, max: int64(most)}, m.Value)
		if err != nil {
			return nil, err
		}
		size[m.Name] = int(n)
	}
	if size["rows"] == 0 || size["cols"] == 0 {
		return nil, invalid(p.name, "Argument %q needs both rows and cols, as %s.", p.name, fmt.Sprintf(`{"rows": %d, "cols": %d}`, usualRows, usualColumns))
	}
	return &tipstaff.TerminalSize{Rows: uint16(size["rows"]), Columns: uint16(size["cols"])}, nil
}
