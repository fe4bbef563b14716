package approvaltest

import (
	"context"
	"errors"
	"strings"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
)

const (
	required = tipstaff.ApprovalRequired
	denied   = tipstaff.ApprovalDenied
)

var promises = []struct {
	says    string
	options approval.Options
	try     func(c *check)
}{
	{"the same call again asks nothing new", approval.Options{}, func(c *check) {
		c.want("push", nil, required, "nothing ran yet")
		first := c.handle()
		c.want("push", nil, required, first)
		c.wantOpen(1)
	}},
	{"an approval of the host counts once, for the same command of the same principal", approval.Options{}, func(c *check) {
		c.want("push", nil, required, "")
		c.answer(c.handle(), Allow, nil)
		c.want("pull", nil, required, "")
		c.wantAs("you", "push", nil, required, "")
		c.want("push", nil, "", "")
		c.want("push", nil, required, "")
	}},
	{"a question ends at its time", approval.Options{}, func(c *check) {
		c.want("push", nil, required, "")
		first := c.handle()
		time.Sleep(wait)
		c.answer(first, Allow, approval.ErrNotOpen)
		c.want("push", nil, required, "")
	}},
	{"an approval ends at its time", approval.Options{}, func(c *check) {
		c.want("push", nil, required, "")
		c.answer(c.handle(), Allow, nil)
		time.Sleep(wait)
		c.want("push", nil, required, "")
	}},
	{"a refusal says why, and is not worn down by asking again until its time ends", approval.Options{}, func(c *check) {
		c.want("push", nil, required, "")
		c.answer(c.handle(), policy.Answer{Comment: "not on a Friday"}, nil)
		for range 3 {
			c.want("push", nil, denied, "not on a Friday")
		}
		time.Sleep(wait)
		c.want("push", nil, required, "")
	}},
	{"who refuses has the last word until the approval is used", approval.Options{}, func(c *check) {
		c.want("push", nil, required, "")
		c.answer(c.handle(), Allow, nil)
		c.answer(c.handle(), Allow, approval.ErrAnswered)
		c.answer(c.handle(), policy.Answer{Comment: "no", By: "bob"}, nil)
		c.answer(c.handle(), Allow, approval.ErrAnswered)
		c.want("push", nil, denied, "The person says: no")
	}},
	{"an unknown handle is no question", approval.Options{}, func(c *check) {
		c.want("push", nil, required, "")
		c.answer(approval.Prefix+"x", Allow, approval.ErrNotOpen)
		c.want("push", nil, required, "")
	}},
	{"after a restart neither questions nor approvals are left", approval.Options{}, func(c *check) {
		c.want("push", nil, required, "")
		c.answer(c.handle(), Allow, nil)
		c.want("pull", nil, required, "")
		open := c.store.List()
		c.store.Close()
		c.start(approval.Options{})
		for _, q := range open {
			c.answer(q.Handle, Allow, approval.ErrNotOpen)
		}
		c.want("push", nil, required, "")
	}},
	{"a person at the caller's end allows a command once", approval.Options{}, func(c *check) {
		person, asked := answering(policy.Answer{Choice: policy.Once, By: "ann"}, nil)
		c.want("push", person, "", "")
		c.want("push", person, "", "")
		c.wantAsked(asked, 2)
		c.wantOpen(0)
	}},
	{"a person at the caller's end says no", approval.Options{}, func(c *check) {
		person, asked := answering(policy.Answer{Comment: "ask bob"}, nil)
		c.want("push", person, denied, "ask bob")
		c.wantAsked(asked, 1)
		c.wantOpen(0)
	}},
	{"a session is remembered for the same command alone", approval.Options{}, func(c *check) {
		person, asked := answering(policy.Answer{Choice: policy.Session, By: "ann"}, nil)
		c.want("push", person, "", "")
		c.want("push", person, "", "")
		c.want("push", nil, "", "")
		c.wantAsked(asked, 1)
		c.want("pull", nil, required, "")
		c.wantAs("you", "push", nil, required, "")
	}},
	{"a session is not remembered where single answers alone are taken", approval.Options{OnceOnly: true}, func(c *check) {
		c.want("push", nil, required, "")
		c.answer(c.handle(), policy.Answer{Choice: policy.Session, By: "ann"}, nil)
		c.want("push", nil, "", "")
		c.want("push", nil, required, "")
	}},
	{"a question that nobody answers is refused in time", approval.Options{Wait: 30 * time.Second}, func(c *check) {
		began := time.Now()
		c.want("push", func(ctx context.Context, q policy.Question) (policy.Answer, error) {
			if left := q.Expires.Sub(began).Round(time.Second); left != 30*time.Second {
				c.Errorf("the person was given %v", left)
			}
			<-ctx.Done()
			return policy.Answer{}, ctx.Err()
		}, denied, "nobody answered in time")
		if took := time.Since(began); took > 31*time.Second {
			c.Errorf("it took %v", took)
		}
		c.wantOpen(0)
	}},
	{"the host may be faster than the person at the caller's end", approval.Options{}, func(c *check) {
		released := make(chan struct{})
		c.want("push", func(ctx context.Context, q policy.Question) (policy.Answer, error) {
			c.answer(q.Handle, Allow, nil)
			<-ctx.Done()
			close(released)
			return policy.Answer{}, ctx.Err()
		}, "", "")
		<-released // the question is withdrawn at the caller's end
	}},
	{"the host is asked if the caller's end cannot ask after all", approval.Options{}, func(c *check) {
		person, asked := answering(policy.Answer{}, errors.New("method not found"))
		c.want("push", person, required, "nothing ran yet")
		c.wantAsked(asked, 1)
		c.answer(c.handle(), Allow, nil)
		c.want("push", nil, "", "")
	}},
	{"without anybody to ask the answer is no", approval.Options{Host: func() bool { return false }}, func(c *check) {
		c.want("push", nil, denied, "nobody can be asked")
		person, _ := answering(policy.Answer{}, errors.New("method not found"))
		c.want("push", person, denied, "nobody can be asked")
		c.wantOpen(0)
	}},
	{"a command that cannot be shown as a whole is not asked about", approval.Options{}, func(c *check) {
		person, asked := answering(policy.Answer{Choice: policy.Once, By: "ann"}, nil)
		c.want(strings.Repeat("x", 16<<10), person, denied, "too long to be shown")
		c.wantAsked(asked, 0)
	}},
}
