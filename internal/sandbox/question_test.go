//go:build linux

package sandbox

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff/internal/profile"
)

// TestWhoAsksGetsAnAnswerFoundAfterwards, and shares it with whoever asked before
// it was begun.
func TestWhoAsksGetsAnAnswerFoundAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q questions
		found := 0
		faulty := errors.New("cannot tell")
		find := func() (profile.Paths, error) {
			found++
			began := time.Now()
			time.Sleep(10 * time.Millisecond)
			return profile.Paths{Workspace: []string{began.Format(time.RFC3339Nano)}}, faulty
		}
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 137 * time.Microsecond) // up to 13.6 ms
				asked := time.Now()
				paths, err := q.ask(profile.Workspace, []string{"/w"}, nil, find)
				began, badTime := time.Parse(time.RFC3339Nano, paths.Workspace[0])
				if !errors.Is(err, faulty) || badTime != nil || began.Before(asked) {
					t.Errorf("asked at %v, found at %v: %v", asked, began, err)
				}
			})
		}
		all.Wait()
		if found != 3 {
			t.Errorf("%d answers were found for 100 who asked within 14 ms", found)
		}
		if len(q.open) != 0 {
			t.Errorf("%d questions are kept", len(q.open))
		}
	})
}

// TestDifferentQuestionsDoNotWaitForEachOther: another profile, another workspace.
func TestDifferentQuestionsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q questions
		began := time.Now()
		var all sync.WaitGroup
		for _, workspace := range [][]string{{"/a"}, {"/b"}, {"/a", "/b"}} {
			for _, p := range []profile.Profile{profile.Workspace, profile.ReadOnly} {
				all.Go(func() {
					want := p.String() + workspace[0]
					paths, err := q.ask(p, workspace, nil, func() (profile.Paths, error) {
						time.Sleep(time.Second)
						return profile.Paths{Workspace: []string{want}}, nil
					})
					if err != nil || paths.Workspace[0] != want {
						t.Errorf("%v %v", paths.Workspace, err)
					}
				})
			}
		}
		all.Wait()
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
