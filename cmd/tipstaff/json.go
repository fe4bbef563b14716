package main

import (
	"encoding/json"
	"io"
	"strings"

	"tipstaff/internal/audit"
)

// sayJSON prints v as indented JSON. What a terminal would take for more than text
// is escaped.
func sayJSON(out io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fail(exitFailure, "cannot write the list: %w", err)
	}
	for line := range strings.Lines(string(data) + "\n") {
		text, _ := strings.CutSuffix(line, "\n")
		say(out, "%s", audit.AppendPrintable(nil, []byte(text)))
	}
	return nil
}
