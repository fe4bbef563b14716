package clients

import (
	"slices"
	"strings"
)

// diffContext is how many lines around a change are shown.
const diffContext = 3

// Diff shows what becomes of a text, with some lines around it: "-" begins a
// line that goes, "+" one that comes. An entry stands in one place, so one span
// of lines is enough.
func Diff(before, after string) string {
	a, b := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	tail := 0
	for tail < len(a)-same && tail < len(b)-same && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	show := func(sign string, lines []string) {
		for _, l := range lines {
			out.WriteString(sign + strings.TrimRight(l, "\r\n") + "\n")
		}
	}
	if same > diffContext {
		out.WriteString("  …\n")
	}
	show("  ", a[max(0, same-diffContext):same])
	show("- ", a[same:len(a)-tail])
	show("+ ", b[same:len(b)-tail])
	show("  ", a[len(a)-tail:min(len(a), len(a)-tail+diffContext)])
	if tail > diffContext {
		out.WriteString("  …\n")
	}
	return out.String()
}
