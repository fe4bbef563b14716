package rpc

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tipstaff"
	"tipstaff/internal/fleet/natsx"
)

// machine is a carrier that does what the arguments of a call say, and counts what
// it has started.
type machine struct {
	mu      sync.Mutex
	started map[string]int // by the id
	ended   map[string]string
	begun   chan string // the id of each call that is started
	release chan string // what a call that waits answers
}

func newMachine() *machine {
	return &machine{started: map[string]int{}, ended: map[string]string{}, begun: make(chan string, 100), release: make(chan string, 100)}
}

// deed is what a call is to do.
type deed struct {
	Say   string        `json:"say,omitempty"`
	Times int           `json:"times,omitempty"` // how often it is said
	Fail  tipstaff.Code `json:"fail,omitempty"`
	Panic bool          `json:"panic,omitempty"`
	Ask   string        `json:"ask,omitempty"`
	Tell  string        `json:"tell,omitempty"`
	Wait  bool          `json:"wait,omitempty"` // for its release, or its end
	ID    string        `json:"command_id,omitempty"`
}

func (m *machine) Carry(ctx context.Context, c Call, at Caller) ([]byte, error) {
	var d deed
	if err := json.Unmarshal(c.Arguments, &d); err != nil {
		return nil, err
	}
	if d.Fail != "" {
		return nil, &tipstaff.Error{Code: d.Fail, Rule: "rule", Msg: "It is not allowed.", Hint: "Do something else.", Details: map[string]any{"what": "this"}, Err: fmt.Errorf("secret of the operator")}
	}
	m.mu.Lock()
	m.started[c.ID]++
	m.mu.Unlock()
	m.begun <- c.ID
	if d.Tell != "" {
		at.Tell(Progress{Phase: "running", Out: d.Tell})
	}
	if d.Ask != "" {
		said, err := at.Ask(ctx, []byte(d.Ask))
		return append([]byte("they said: "), said...), err
	}
	answer := strings.Repeat(d.Say, max(d.Times, 1))
	if d.Wait {
		select {
		case answer = <-m.release:
		case <-ctx.Done():
			answer = "ended: " + context.Cause(ctx).Error()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended[c.ID] = answer
	return []byte(answer), nil
}

func (m *machine) count() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.started {
		n += k
	}
	return n
}

func (m *machine) end(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended[id]
}

// person is a caller with a person who can be asked.
type person struct {
	mu      sync.Mutex
	told    []Progress
	asked   []string
	says    string
	returns bool
	heard   chan struct{} // gets something for each sign of progress
}

func newPerson() *person { return &person{says: `"yes"`, heard: make(chan struct{}, 100)} }

func (p *person) Tell(t Progress) {
	p.mu.Lock()
	p.told = append(p.told, t)
	p.mu.Unlock()
	select {
	case p.heard <- struct{}{}:
	default:
	}
}

func (p *person) Ask(_ context.Context, q []byte) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, string(q))
	return []byte(p.says), nil
}

func (p *person) MayReturn() bool { return p.returns }

// trust signs with nothing but a digest, and verifies it: real keys are tested in
// internal/fleet/natsx, and over a real server here.
type trust struct{ self natsx.Address }

func (s trust) Sign(st natsx.Statement, message []byte) ([]byte, error) {
	digest := sha256.Sum256(message)
	st.Digest, st.Gateway, st.Issued = hex.EncodeToString(digest[:]), s.self.String(), time.Now()
	return json.Marshal(st)
}

func (s trust) Verify(statement, message []byte) (natsx.Statement, error) {
	var st natsx.Statement
	if json.Unmarshal(statement, &st) != nil {
		return st, &natsx.Refusal{Reason: natsx.Unsigned, Say: "unsigned"}
	}
	digest := sha256.Sum256(message)
	switch {
	case st.Digest != hex.EncodeToString(digest[:]):
		return st, &natsx.Refusal{Reason: natsx.OtherMessage, Say: "other message"}
	case time.Now().After(st.NotAfter):
		return st, &natsx.Refusal{Reason: natsx.TooOld, Say: "too old"}
	case st.Runner != s.self.String():
		return st, &natsx.Refusal{Reason: natsx.OtherRecipient, Say: "other recipient"}
	}
	return st, nil
}

// fleet is a list of runners that a test changes. Ids say their addresses openly.
type fleet struct {
	mu   sync.Mutex
	held []natsx.Address
}

func (f *fleet) set(all ...natsx.Address) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = all
}

func (f *fleet) Find(id string) (natsx.Address, error) {
	_, at, is := strings.Cut(id, "@")
	if !is {
		return natsx.Address{}, ErrNoAddress
	}
	a, err := natsx.ParseAddress(at)
	if err != nil {
		return a, ErrUnknown
	}
	if !f.Held(a) {
		return a, ErrGone
	}
	return a, nil
}

func (f *fleet) Place(ctx context.Context, _ Call, try func(context.Context, natsx.Address) error) error {
	f.mu.Lock()
	all := append([]natsx.Address(nil), f.held...)
	f.mu.Unlock()
	for _, a := range all {
		if !TurnedAway(try(ctx, a)) {
			return nil
		}
	}
	return NoRoom("all are full", time.Second)
}

func (f *fleet) Held(a natsx.Address) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.held, a)
}

func (f *fleet) NewID(a natsx.Address) string { return "cmd_" + rand.Text() + "@" + a.String() }

// claims are those of all gateways of a test.
type claims struct {
	mu   sync.Mutex
	at   map[string]natsx.Address
	fail error
}

func (c *claims) Claim(_ context.Context, key string, a natsx.Address) (natsx.Address, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return a, c.fail
	}
	if c.at == nil {
		c.at = map[string]natsx.Address{}
	}
	if old, is := c.at[key]; is {
		return old, nil
	}
	c.at[key] = a
	return a, nil
}

// call is a call that any runner can take.
func call(d deed) Call {
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(d)
	return Call{ID: d.ID, Given: d.ID != "", Tool: "do", Principal: "ann", Arguments: bytes.TrimSpace(b.Bytes())}
}
