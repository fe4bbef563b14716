//go:build linux

package sandbox

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"tipstaff"
)

func TestWordsAreFoundWhereverTheyStand(t *testing.T) {
	for i, cause := range causes {
		for _, w := range cause.words {
			if len(w) < wordBytes || w != strings.ToLower(w) {
				t.Errorf("%q is too short or not in lower case", w)
			}
			for before := range 2 * wordBytes {
				for _, text := range []string{w, strings.ToUpper(w), w + "\n", strings.ToUpper(w[:1]) + w[1:] + " and more"} {
					if text = strings.Repeat("x", before) + text; causeWords().find([]byte(text))&(1<<i) == 0 {
						t.Errorf("%q is not found in %q", w, text)
					}
				}
			}
		}
	}
}

// TestTheQuickSearchFindsWhatTheSlowOneFinds: texts of few letters come close to
// the words again and again.
func TestTheQuickSearchFindsWhatTheSlowOneFinds(t *testing.T) {
	sets := [][]string{{"abcab", "bbbbbbb"}, {"abcabc", "cabac /"}, {"aaaaa"}}
	s := newWordSearch(sets)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 20_000 {
		text := make([]byte, random.IntN(40))
		for i := range text {
			text[i] = "abcABC /"[random.IntN(8)]
		}
		var want uint64
		for i, words := range sets {
			for _, w := range words {
				if strings.Contains(strings.ToLower(string(text)), w) {
					want |= 1 << i
				}
			}
		}
		if want != 0 {
			found++
		}
		if got := s.find(text); got != want {
			t.Fatalf("in %q it finds %b, want %b", text, got, want)
		}
	}
	if found < 20 {
		t.Errorf("only %d texts hold a word", found)
	}
}

// BenchmarkExplainNothing is what an answer waits for when there is nothing to
// explain.
func BenchmarkExplainNothing(b *testing.B) {
	line := "ok  \texample.com/module/internal/package\t0.013s  coverage: 81.2% of statements\n"
	c := &Confined{sandbox: &Sandbox{}, session: &sessionSandbox{settings: &settings{network: Network{}}}, layers: &layers{}}
	for _, size := range []struct {
		says  string
		bytes int
	}{{"200 bytes", 200}, {"8 kB on both outputs", 8 << 10}} {
		text := bytes.Repeat([]byte(line), size.bytes/len(line)+1)[:size.bytes]
		r := tipstaff.Result{ExitCode: 1, Stdout: tipstaff.Stream{Head: text}, Stderr: tipstaff.Stream{Head: text}}
		b.Run(size.says, func(b *testing.B) {
			for b.Loop() {
				c.Explain(&r)
			}
			if len(r.Refusals) > 0 {
				b.Fatal(r.Refusals)
			}
		})
	}
}
