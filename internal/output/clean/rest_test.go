package clean

import (
	"strings"
	"testing"

	"tipstaff"
)

// TestTheMarkerSaysWhereTheRestIsWithinTheBound for every bound that has room for
// it; with less it stands alone.
func TestTheMarkerSaysWhereTheRestIsWithinTheBound(t *testing.T) {
	const rest = `read_output {"command_id":"cmd_ABCDEFGHIJKLMNOPQRSTUVWXYZ","grep":"…"} reads them`
	whole := strings.Repeat("a line of output\n", 10_000)
	for _, limit := range []int{1, 100, 200, 300, 1000, 10_000, 100_000} {
		s := tipstaff.Stream{Head: []byte(whole[:len(whole)/2]), Tail: []byte(whole[len(whole)/2:]), Dropped: 1 << 40, DroppedLines: 1 << 30}
		out, _ := Show(s, tipstaff.Stream{}, Options{Limit: limit, Rest: rest})
		if strings.Count(out.Text, "lines omitted; "+rest+"]\n") != 1 || !out.Truncated {
			t.Errorf("bound %d: %.200q", limit, out.Text)
		}
		if len(out.Text) > max(limit, markerRoom+len(rest)) {
			t.Errorf("bound %d: %d bytes", limit, len(out.Text))
		}
	}
}
