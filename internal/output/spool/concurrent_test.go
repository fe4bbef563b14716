package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"

	"tipstaff"
)

// TestManyAtOnce: writers, readers and removals of all kinds, for the race
// detector.
func TestManyAtOnce(t *testing.T) {
	s := store(t, Options{MaxBytes: 300_000, TotalBytes: 1 << 20})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			id := tipstaff.RequestID(fmt.Sprint("cmd_", i))
			o := s.Begin(id)
			var writers, readers sync.WaitGroup
			for _, stream := range []Stream{Stdout, Stderr} {
				writers.Go(func() {
					for range 200 {
						o.Write(stream, numbered(300))
					}
				})
			}
			readers.Go(func() {
				for !o.Done() {
					<-o.Changed()
				}
			})
			readers.Go(func() {
				for at := int64(0); !o.Done(); {
					p, err := o.Read(at, 10_000, Both)
					if errors.Is(err, ErrGone) {
						return
					}
					at = p.Next
					_, _ = o.Tail(10, Stdout)
					_, _ = o.Grep(regexp.MustCompile("0000000299"), 1, max(0, at-100_000), 1000, Both)
				}
			})
			if i%4 == 3 {
				s.Remove(id)
			}
			writers.Wait()
			o.End()
			readers.Wait()
		})
	}
	all.Wait()
	if s.used > 1<<20 {
		t.Errorf("%d bytes are used", s.used)
	}
	_ = s.Close()
	if left, err := filepath.Glob(s.opts.Dir + "/*"); err != nil || len(left) > 0 || s.used != 0 {
		t.Errorf("%q, %d bytes, %v", left, s.used, err)
	}
	if _, err := os.Stat(s.opts.Dir); err != nil {
		t.Error(err)
	}
}
