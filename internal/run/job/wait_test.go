package job

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"tipstaff/internal/output/spool"
)

// TestAWaitEndsWithWhatItWaitsFor: in a bubble, time passes only while everybody
// waits, so a wait that polled would show in the clock.
func TestAWaitEndsWithWhatItWaitsFor(t *testing.T) {
	for _, c := range []struct {
		what  string
		until Until
		does  func(*command)
		want  bool
		late  time.Duration // after it has happened, at most
	}{
		{"the end", Until{}, func(c *command) { c.end(0) }, true, 0},
		{"output", Until{Output: true}, func(c *command) { c.say("x") }, true, 0},
		{"output, and it ends", Until{Output: true}, func(c *command) { c.end(0) }, false, 0},
		{"output behind an offset", Until{Output: true, From: 3}, func(c *command) { c.say("xxx") }, false, time.Hour},
		{"a line", Until{Match: regexp.MustCompile("(?m)^ready$")}, func(c *command) { c.say("\x1b[32mready\x1b[0m\n") }, true, 0},
		{"a prompt", Until{Match: regexp.MustCompile("(?m)^name: $")}, func(c *command) { c.say("name: ") }, true, 0},
		{"a line in pieces", Until{Match: regexp.MustCompile("port 8080")}, func(c *command) {
			c.say("listening on po")
			time.Sleep(time.Second)
			c.say("rt 8080\n")
		}, true, between + time.Second},
		{"a line of one stream, behind a prompt on the other", Until{Match: regexp.MustCompile("(?m)^it is"), Stream: spool.Stdout}, func(c *command) {
			c.warn(">>> ")
			c.say("it is 42\n")
		}, true, between},
		{"a line of the other stream", Until{Match: regexp.MustCompile("oops"), Stream: spool.Stdout}, func(c *command) { c.warn("oops\n"); c.end(1) }, false, between},
		{"a line that does not come", Until{Match: regexp.MustCompile("ready")}, func(c *command) { c.say("no\n"); c.end(1) }, false, between},
		{"a port", Until{Port: 80}, func(c *command) { c.opens(80) }, true, lastLook},
		{"a port, and it ends", Until{Port: 80}, func(c *command) { c.end(0) }, false, lastLook},
	} {
		t.Run(c.what, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, w *fixture) {
				j, cmd := w.mustStart(me("a"), "")
				go func() {
					time.Sleep(10 * time.Minute)
					c.does(cmd)
				}()
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				got, err := j.Wait(ctx, c.until)
				if took := time.Since(began) - 10*time.Minute; got != c.want || err != nil || took < 0 || took > c.late {
					t.Errorf("%t, %v, %v late", got, err, took)
				}
			})
		})
	}
}

// TestAWaitThatTheEndEndsKnowsHowItEnded: an output is over before the end is on
// record. A caller that was answered between both would ask again, and again.
func TestAWaitThatTheEndEndsKnowsHowItEnded(t *testing.T) {
	for what, until := range map[string]Until{
		"output": {Output: true},
		"a line": {Match: regexp.MustCompile("ready")},
	} {
		t.Run(what, func(t *testing.T) {
			bubble(t, Options{}, func(t *testing.T, w *fixture) {
				j, cmd := w.mustStart(me("a"), "")
				go func() {
					cmd.out.End()
					time.Sleep(time.Second) // a record that is slow
					cmd.end(3)
				}()
				if happened, err := j.Wait(t.Context(), until); happened || err != nil {
					t.Errorf("%t, %v", happened, err)
				}
				if st := j.Status(); st.State != Exited || st.Result.ExitCode != 3 {
					t.Errorf("after it: %s, %d", st.State, st.Result.ExitCode)
				}
			})
		})
	}
}

func TestAWaitForAPortLooksFourTimesASecond(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		j, c := w.mustStart(me("a"), "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got, err := j.Wait(ctx, Until{Port: 80}); got || err != nil {
			t.Errorf("%t, %v", got, err)
		}
		if c.looks < 230 || c.looks > 250 {
			t.Errorf("%d looks in a minute", c.looks)
		}
	})
}

func TestALineInAFloodIsFound(t *testing.T) {
	bubble(t, Options{}, func(t *testing.T, w *fixture) {
		j, c := w.mustStart(me("a"), "")
		go func() {
			for i := range 2000 {
				c.say(fmt.Sprintf("line %d of many that say nothing\n", i))
				if i%100 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			c.say("and here it is: needle")
		}()
		if got, err := j.Wait(t.Context(), Until{Match: regexp.MustCompile("needle$")}); !got || err != nil {
			t.Errorf("%t, %v", got, err)
		}
	})
}
