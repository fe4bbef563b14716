//go:build !race

// One goroutine reads here; see search_test.go.

package spool

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestWhatWasWrittenIsReadInTheOrderInWhichItCame is a round trip of pieces of
// all sizes, read by parts of all sizes, while the command runs and afterwards.
func TestWhatWasWrittenIsReadInTheOrderInWhichItCame(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := store(t, Options{})
		o, m := filled(s, r, []int{100, 10_000, 200_000, 2_000_000}[seed%4])
		for _, ended := range []bool{false, true} {
			if ended {
				o.End()
			}
			for _, stream := range []Stream{Both, Stdout, Stderr} {
				var all []byte
				for at := int64(0); at < o.Size(); {
					p, err := o.Read(at, 1+r.IntN(1<<r.IntN(18)), stream)
					if err != nil || p.Lost || p.From != at || p.Next <= at && p.Next < p.Total || p.Total != int64(len(m.data)) {
						t.Fatalf("seed %d, %v, from %d: %+v, %v", seed, stream, at, p, err)
					}
					if want := m.text(at, p.Next, stream); !bytes.Equal(p.Text, want) {
						t.Fatalf("seed %d, %v, ended %v: [%d, %d) is %d bytes, want %d", seed, stream, ended, at, p.Next, len(p.Text), len(want))
					}
					all = append(all, p.Text...)
					at = p.Next
				}
				if !bytes.Equal(all, m.text(0, int64(len(m.data)), stream)) {
					t.Fatalf("seed %d, %v: %d bytes of %d", seed, stream, len(all), len(m.data))
				}
			}
			if !o.Whole() {
				t.Error("it is whole")
			}
		}
	}
}
