package tty

import (
	"encoding/json"
	"io"
	"strings"

	"tipstaff/internal/audit"
	"tipstaff/internal/exit"
)

// SayJSON prints v as indented JSON. What a terminal would take for more than text
// is escaped.
func SayJSON(out io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return exit.Errorf(exit.Failure, "cannot write the list: %w", err)
	}
	for line := range strings.Lines(string(data) + "\n") {
		text, _ := strings.CutSuffix(line, "\n")
		Say(out, "%s", audit.AppendPrintable(nil, []byte(text)))
	}
	return nil
}

// WriteJSON prints one value for programs.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return exit.Errorf(exit.Failure, "cannot print: %w", err)
	}
	return nil
}
