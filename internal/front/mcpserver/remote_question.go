package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
	"tipstaff/internal/strictjson"
)

// A runner's own policy may leave a command to a person, too. At a client of the
// stateful protocol the person is asked while the call waits, over the link. A client
// of the stateless protocol cannot be asked so: the runner ends the call with its
// question, the gateway hands it to the client with a sealed state that names the
// runner, and the call that comes again with the answer goes to that runner, by
// whatever gateway. The runner keeps the question, and takes its answer once.

// broughtAnswer is an answer that a call brings to a question of a runner.
type broughtAnswer struct {
	Runner string        `json:"-"` // that has asked
	Handle string        `json:"handle"`
	Answer policy.Answer `json:"answer"`
}

// The details of the error by which a runner ends a call with a question. It reaches
// no caller.
const (
	detailQuestion = "question"
	detailRunner   = "runner"
)

// handOver is the end of a call on a runner that a person at the client of a gateway
// has to be asked about first.
func handOver(q policy.Question, self string) error {
	question, err := json.Marshal(q)
	if err != nil {
		return fmt.Errorf("cannot write a question: %w", err)
	}
	return &tipstaff.Error{
		Code: askedLater, Msg: "A person is asked.", Err: approval.ErrLater,
		Details: map[string]any{detailQuestion: string(question), detailRunner: self},
	}
}

// takeOver makes a question of a runner one that this call hands to its client. Any
// other error it returns as it is.
func (a *asking) takeOver(o tipstaff.Origin, err error) error {
	var e *tipstaff.Error
	if !errors.As(err, &e) || e.Code != askedLater {
		return err
	}
	if !a.hands() {
		return fmt.Errorf("a runner asks where nobody can be asked: %s", e.Msg)
	}
	question, _ := e.Details[detailQuestion].(string)
	runner, _ := e.Details[detailRunner].(string)
	var q policy.Question
	if fault := strictjson.Unmarshal([]byte(question), &q); fault != nil || q.Handle == "" || runner == "" {
		return fmt.Errorf("cannot read a runner's question (%d bytes): %v", len(question), fault)
	}
	q.Origin = o // who is asked is known here
	a.pending, a.by = q, runner
	return approval.ErrLater
}

// hands reports whether the client takes questions with the answer of its call.
func (a *asking) hands() bool {
	if a == nil {
		return false
	}
	ask, waits := a.way()
	return ask != nil && !waits
}

// broughtOver takes the answer that a call over a gateway brings to a question of this
// machine.
func (s *Server) broughtOver(principal string, b *broughtAnswer) (claim string, err error) {
	if b == nil {
		return "", nil
	}
	if s.opts.Approvals == nil {
		return "", badState("there is no open question here")
	}
	b.Answer.How = policy.ByElicitation // a gateway knows no other way
	if err := s.opts.Approvals.Store.AnswerOf(principal, b.Handle, b.Answer); err != nil {
		return "", badState("the question has been answered, used, or has expired")
	}
	return b.Handle, nil
}
