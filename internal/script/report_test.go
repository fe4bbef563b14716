package script

import (
	"slices"
	"strings"
	"testing"
)

// TestTheWordsOfACommandAreCutAndSayHowMuch: they are in the call already.
func TestTheWordsOfACommandAreCutAndSayHowMuch(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct{ words, want []string }{
		{[]string{"echo", "", "a b"}, []string{"echo", "", "a b"}},
		{[]string{"python3", "-c", long}, []string{"python3", "-c", long[:189], "… 811 bytes more"}},
		{[]string{long, "y"}, []string{long[:200], "… 801 bytes more"}},
		{[]string{"é" + long}, []string{"é" + long[:198], "… 802 bytes more"}},
	} {
		if got := shortened(c.words); !slices.Equal(got, c.want) {
			t.Errorf("%.40q: %q, want %q", c.words, got, c.want)
		}
	}
}
