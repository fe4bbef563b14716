package archtest

import (
	"fmt"
	"strings"
)

// Written replaces what a document says between a marker of the given name and the next
// "<!-- end -->".
func Written(document, name, text string) (string, error) {
	begin := "<!-- written by go test ./internal/testing/archtest -update: " + name + " -->\n"
	before, rest, ok := strings.Cut(document, begin)
	if !ok {
		return "", fmt.Errorf("no line %q", strings.TrimSpace(begin))
	}
	const end = "<!-- end -->"
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("no line %q after %q", strings.TrimSpace(end), strings.TrimSpace(begin))
	}
	return before + begin + "\n" + strings.TrimSpace(text) + "\n\n" + end + after, nil
}

// CoreTable shows the trusted core to readers of SECURITY.md.
func CoreTable(core *Core) string {
	var b strings.Builder
	b.WriteString("| package | what it does |\n|---|---|\n")
	for _, row := range core.Packages {
		fmt.Fprintf(&b, "| `%s` | %s |\n", row.Path, row.Does)
	}
	return b.String()
}
