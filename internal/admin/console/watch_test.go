package console

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff/internal/admin/api"
)

// lateAdmin has a server that hangs: a look takes as long as one waits for it.
type lateAdmin struct {
	fakeAdmin
	takes time.Duration
}

func (d *lateAdmin) Now(ctx context.Context) (api.Overview, error) {
	select {
	case <-time.After(d.takes):
	case <-ctx.Done():
	}
	return d.fakeAdmin.Now(ctx)
}

func TestNotEachPageWaitsForAServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &lateAdmin{takes: 2 * time.Second}
		w := newWatch(d, &fakeQuestions{})
		waited := func() time.Duration {
			begun := time.Now()
			w.latest(t.Context())
			return time.Since(begun)
		}
		for _, step := range []struct {
			name string
			do   func()
			want time.Duration
		}{
			{"the first page", func() {}, 2 * time.Second},
			{"the next one", func() {}, 0},
			{"after a person has acted", w.act, 2 * time.Second},
			{"after a while", func() { time.Sleep(3 * time.Second) }, 2 * time.Second},
			{"when the server has ended", func() { time.Sleep(3 * time.Second); d.takes = 0 }, 0},
		} {
			step.do()
			if took := waited(); took != step.want {
				t.Errorf("%s waited %v, not %v", step.name, took, step.want)
			}
		}
		before := d.looks
		waited()
		waited()
		if d.looks != before+2 {
			t.Errorf("control: quick servers are asked by each page: %d of 2 looks", d.looks-before)
		}
	})
}

// What was seen before a person came back is not shown as if it were so now.
func TestAStreamDoesNotBeginWithWhatIsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &lateAdmin{takes: 2 * time.Second}
		w := newWatch(d, &fakeQuestions{})
		w.latest(t.Context())
		time.Sleep(time.Hour)
		begun := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		err := w.follow(ctx, func(s seen) error {
			if s.at.Before(begun) {
				t.Errorf("it is %v old", time.Since(s.at))
			}
			cancel()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		w.looking.Wait()
	})
}

func TestAStreamThatComesAfterTheEndBeginsNoLook(t *testing.T) {
	d := &fakeAdmin{}
	w := newWatch(d, &fakeQuestions{})
	w.end()
	w.enter()
	w.leave()
	w.looking.Wait()
	if d.looks != 0 {
		t.Errorf("%d looks", d.looks)
	}
}
