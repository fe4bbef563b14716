package rpc

import (
	"context"
	"encoding/json"
	"time"
)

// Call is a call of a tool as it crosses. What the tool is, and what Front says, is
// known to the two fronts only.
type Call struct {
	// ID names the call: calls of one principal with one ID are carried out once.
	// Given: the caller has chosen it; else the gateway does, and ID is "".
	ID    string `json:"id"`
	Given bool   `json:"given,omitempty"`
	Tool  string `json:"tool"`
	// Principal is whose the call is, and what it leaves behind.
	Principal string `json:"principal"`
	// Target is the id of a session or of a command that the call names, and that
	// leads to its runner; "": any runner can take the call.
	Target string `json:"target,omitempty"`
	// Stays: the call goes on without callers. Reads: it changes nothing.
	Stays bool `json:"stays,omitempty"`
	Reads bool `json:"reads,omitempty"`
	// Opens: the call opens a session.
	Opens bool `json:"opens,omitempty"`
	// At is the address of the one runner that can take the call; "": by the rest.
	At string `json:"-"`
	// Labels are those that the runner of the session must have; without a pool, it
	// must have none either.
	Labels map[string]string `json:"labels,omitempty"`
	// Joins: the call only joins the one with its ID.
	Joins bool `json:"joins,omitempty"`

	Arguments json.RawMessage `json:"arguments,omitempty"` // as the caller has sent them
	Front     json.RawMessage `json:"front,omitempty"`

	// Gateway is who has sent the call; set by the runner, from the signature.
	Gateway string `json:"-"`
}

// Progress is how it goes with a call: each says all, so that one may be lost.
type Progress struct {
	Phase string        `json:"phase"`
	Age   time.Duration `json:"age"` // of the phase
	// Out and Err are the last whole lines of what was printed; secrets are hidden.
	Out string `json:"out,omitempty"`
	Err string `json:"err,omitempty"`
	// ErrLast: the last whole line is one of Err.
	ErrLast bool `json:"err_last,omitempty"`
}

// Caller is the one who waits for a call. Its methods may be called at once, and
// after the call was answered.
type Caller interface {
	// Tell says how it goes. It does not block.
	Tell(p Progress)
	// Ask puts a question to the person at the caller's end.
	Ask(ctx context.Context, question []byte) (answer []byte, err error)
	// MayReturn reports whether the caller, when it gives up, was perhaps only cut
	// off and comes back with the same call.
	MayReturn() bool
}

// Carrier carries out calls. The answer is the caller's. An error is a
// [*tipstaff.Error], and means that nothing was started, except one with the code
// COMMAND_OUTCOME_UNKNOWN or INTERNAL. The end of ctx ends the call.
type Carrier interface {
	Carry(ctx context.Context, c Call, at Caller) (answer []byte, err error)
}
