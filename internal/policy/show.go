package policy

import (
	"strings"

	"tipstaff/internal/command/cmdline"
)

// quoted shows a caller's text as one printable line of bounded length, in
// quotes.
func quoted(text string) string {
	return `"` + shown(text) + `"`
}

// shown is quoted without quotes.
func shown(text string) string {
	const most = 200
	cut := ""
	if len(text) > most {
		text, cut = strings.ToValidUTF8(text[:most], ""), "…"
	}
	return cmdline.Escape(text) + cut
}
