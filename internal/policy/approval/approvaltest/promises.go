// Package approvaltest has the promises of approvals as one table, which judges
// the store of questions and every layer above it.
package approvaltest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
)

// Requester asks for commands that the policy leaves to people.
type Requester interface {
	// Request asks for a command of one word, and returns the code and the text of
	// the refusal: no code if the command ran. person answers at the caller's end;
	// nil: nobody is there.
	Request(ctx context.Context, principal, command string, person approval.Ask) (code tipstaff.Code, text string)
}

// Question is the question of a layer that has no policy.
func Question(principal, command string) policy.Question {
	return policy.Question{
		Asked:  policy.Asked{Argv: []string{command}, File: "/bin/" + command, Dir: "/ws", Principal: principal},
		Digest: principal + " " + command, Rule: "test/ask", Why: "It is seen by others.",
		Origin: tipstaff.Origin{Principal: principal},
	}
}

// Refusal is what a caller reads of the error of a layer.
func Refusal(err error) (code tipstaff.Code, text string) {
	if err == nil {
		return "", ""
	}
	e := tipstaff.AsError(err)
	return e.Code, e.Msg + " " + e.Hint
}

// Allow is the answer of a person on the host who allows a command.
var Allow = policy.Answer{Choice: policy.Once, By: "ann", How: policy.ByHost}

// Suite checks all promises. layer puts a Requester before a store; it runs in a
// bubble of testing/synctest, with all that it starts.
func Suite(t *testing.T, layer func(t *testing.T, s *approval.Store) Requester) {
	for _, p := range promises {
		t.Run(p.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &check{T: t, layer: layer}
				c.start(p.options)
				p.try(c)
				c.store.Close()
			})
		})
	}
}

// check is one promise under test.
type check struct {
	*testing.T

	layer func(t *testing.T, s *approval.Store) Requester
	store *approval.Store
	made  Requester
}

// start begins with no questions, as a server does that starts.
func (c *check) start(o approval.Options) {
	if o.Host == nil {
		o.Host = func() bool { return true }
	}
	c.store = approval.NewStore(o)
	c.made = c.layer(c.T, c.store)
}

// want asks as the principal "me", and checks the code and a part of the text.
func (c *check) want(command string, person approval.Ask, code tipstaff.Code, part string) {
	c.Helper()
	c.wantAs("me", command, person, code, part)
}

func (c *check) wantAs(principal, command string, person approval.Ask, code tipstaff.Code, part string) {
	c.Helper()
	if got, text := c.made.Request(c.Context(), principal, command, person); got != code || !strings.Contains(text, part) {
		c.Errorf("%s asked for %s: %q %s; want %q %s", principal, command, got, text, code, part)
	}
}

// handle is that of the oldest open question.
func (c *check) handle() string {
	c.Helper()
	open := c.store.List()
	if len(open) == 0 {
		c.Fatal("no question is open")
	}
	return open[0].Handle
}

// answer answers on the host, and checks the error.
func (c *check) answer(handle string, a policy.Answer, want error) {
	c.Helper()
	if _, err := c.store.Answer(handle, "", a); !errors.Is(err, want) {
		c.Errorf("the answer gives %v, want %v", err, want)
	}
}

func (c *check) wantOpen(n int) {
	c.Helper()
	if got := len(c.store.List()); got != n {
		c.Errorf("%d questions are open, want %d", got, n)
	}
}

func (c *check) wantAsked(asked *int, n int) {
	c.Helper()
	if *asked != n {
		c.Errorf("the person was asked %d times, want %d", *asked, n)
	}
}

// answering is a person at the caller's end, and how often that person was asked.
func answering(a policy.Answer, err error) (person approval.Ask, asked *int) {
	asked = new(int)
	return func(context.Context, policy.Question) (policy.Answer, error) { *asked++; return a, err }, asked
}

// The time after which a question, or an answer that nobody used, is worth nothing.
const wait = approval.DefaultWait + time.Second
