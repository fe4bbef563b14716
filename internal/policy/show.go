package policy

import (
	"fmt"
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
		kept := strings.ToValidUTF8(text[:most], "")
		text, cut = kept, fmt.Sprintf("… %d bytes more", len(text)-len(kept))
	}
	return cmdline.Escape(text) + cut
}
