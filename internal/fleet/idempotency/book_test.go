package idempotency

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
)

func options() Options[string] {
	return Options[string]{Kept: time.Hour, KeptBrief: time.Minute, OwnMax: 3, Bytes: 100, Size: func(s string) int { return len(s) }, Grace: 5 * time.Second}
}

// counted is a call that counts how often it is carried out, and ends when its
// context does or when it is told how.
type counted struct {
	n    int
	ends chan string
	fail error
}

func (c *counted) call(id string) Call[string] {
	return Call[string]{Key: Key{"ann", id}, Run: func(ctx context.Context, _ *Entry[string]) (string, error) {
		c.n++
		if c.fail != nil {
			return "", c.fail
		}
		select {
		case s := <-c.ends:
			return s, nil
		case <-ctx.Done():
			return "ended: " + context.Cause(ctx).Error(), nil
		}
	}}
}

func answerOf(t *testing.T, b *Book[string], c Call[string]) string {
	t.Helper()
	e, _, err := b.Enter(t.Context(), c)
	if err != nil {
		return "refused: " + err.Error()
	}
	s, err := e.Wait(t.Context(), GivesUp)
	if err != nil {
		return "error: " + err.Error()
	}
	return s
}

func TestACallThatIsMadeAgainGetsTheAnswerOfTheFirst(t *testing.T) {
	b, c := NewBook(options()), &counted{ends: make(chan string, 9)}
	c.ends <- "one"
	c.ends <- "two"
	for range 3 {
		if got := answerOf(t, b, c.call("x")); got != "one" {
			t.Errorf("answered %q", got)
		}
	}
	if got := answerOf(t, b, c.call("y")); got != "two" {
		t.Errorf("another id: %q", got)
	}
	other := c.call("x")
	other.Key.Owner = "bob"
	c.ends <- "of bob"
	if got := answerOf(t, b, other); got != "of bob" {
		t.Errorf("another owner: %q", got)
	}
	different := c.call("x")
	different.Digest[0] = 1
	if got := answerOf(t, b, different); !strings.Contains(got, "other arguments. Nothing ran.") {
		t.Errorf("other arguments: %q", got)
	}
	if c.n != 3 {
		t.Errorf("carried out %d times", c.n)
	}
}

func TestACallOfWhichNothingWasStartedCanBeMadeAgain(t *testing.T) {
	b, c := NewBook(options()), &counted{ends: make(chan string, 1), fail: &tipstaff.Error{Code: tipstaff.CommandNotAllowed, Msg: "no"}}
	if got := answerOf(t, b, c.call("x")); got != "error: no" {
		t.Errorf("answered %q", got)
	}
	c.fail = nil
	c.ends <- "yes"
	if got := answerOf(t, b, c.call("x")); got != "yes" {
		t.Errorf("answered %q", got)
	}
}

func TestACallThatPanickedIsNotMadeAgain(t *testing.T) {
	b, n := NewBook(options()), 0
	c := Call[string]{Key: Key{"ann", "x"}, Run: func(context.Context, *Entry[string]) (string, error) { n++; panic("boom") }}
	for range 2 {
		if got := answerOf(t, b, c); !strings.Contains(got, "panic: boom") {
			t.Errorf("answered %q", got)
		}
	}
	if n != 1 {
		t.Errorf("carried out %d times", n)
	}
}

func TestHowACallEndsWhoseCallersLeave(t *testing.T) {
	for _, tc := range []struct {
		name  string
		how   Leaving
		stays bool
		after time.Duration
		ended bool
	}{
		{"the last one gives up", GivesUp, false, 0, true},
		{"the last one gives up a call that stays", GivesUp, true, 0, true},
		{"the last one may return, and has time", MayReturn, false, 4 * time.Second, false},
		{"the last one may return, and does not", MayReturn, false, 6 * time.Second, true},
		{"the last one may return to a call that stays", MayReturn, true, time.Hour, false},
		{"the last one is gone", Gone, false, 0, true},
		{"the last one is gone from a call that stays", Gone, true, time.Hour, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, c := NewBook(options()), &counted{ends: make(chan string)}
				defer b.Close(errors.New("over"))
				call := c.call("x")
				call.Stays = tc.stays
				e, _, _ := b.Enter(t.Context(), call)
				again, joined, err := b.Enter(t.Context(), call)
				if err != nil || !joined || again != e {
					t.Fatal("the second caller did not join", err)
				}
				if e.Leave(errors.New("left"), tc.how) {
					t.Error("the call ended with the first of two callers")
				}
				e.Leave(errors.New("left"), tc.how)
				time.Sleep(tc.after)
				synctest.Wait()
				select {
				case <-e.Done():
					if !tc.ended {
						t.Error("it has ended")
					}
				default:
					if tc.ended {
						t.Error("it goes on")
					}
				}
			})
		})
	}
}

func TestACallerThatReturnsInTimeFindsItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := NewBook(options()), &counted{ends: make(chan string, 1)}
		ctx, cut := context.WithCancel(t.Context())
		e, _, _ := b.Enter(ctx, c.call("x"))
		cut()
		if _, err := e.Wait(ctx, MayReturn); !errors.Is(err, context.Canceled) {
			t.Errorf("the one who was cut off got %v", err)
		}
		time.Sleep(4 * time.Second)
		e, joined, _ := b.Enter(t.Context(), c.call("x"))
		time.Sleep(time.Minute)
		c.ends <- "late"
		if got, err := e.Wait(t.Context(), GivesUp); !joined || got != "late" || err != nil || c.n != 1 {
			t.Errorf("joined: %v, answer %q, error %v, carried out %d times", joined, got, err, c.n)
		}
	})
}

func TestWhatABookKeepsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c := NewBook(options()), &counted{ends: make(chan string, 9)}
		for i := range 3 {
			c.ends <- strings.Repeat("x", 60)
			answerOf(t, b, c.call(fmt.Sprint(i)))
		}
		if got := answerOf(t, b, c.call("0")); !strings.Contains(got, "its answer is not kept any more. It was not carried out again") {
			t.Errorf("an answer that is forgotten: %q", got)
		}
		if got := answerOf(t, b, c.call("2")); len(got) != 60 {
			t.Errorf("the newest answer: %q", got)
		}
		if got := answerOf(t, b, c.call("3")); !strings.Contains(got, "3 of your command_ids are remembered") {
			t.Errorf("one id more: %q", got)
		}
		time.Sleep(time.Hour)
		joins := c.call("0")
		joins.Run = nil
		if got := answerOf(t, b, joins); !strings.Contains(got, "whether it has run before is not known") {
			t.Errorf("only joining after an hour: %q", got)
		}
		c.ends <- "new"
		if got := answerOf(t, b, c.call("0")); got != "new" || b.bytes != 3 || len(b.entries) != 1 {
			t.Errorf("after an hour: %q, %d bytes, %d ids", got, b.bytes, len(b.entries))
		}
	})
}
