package freeze

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tipstaff"
	"tipstaff/internal/command/cmdline"
)

// Target says whose commands are frozen: those for which every field holds that is
// not empty, letter for letter. The zero Target is nobody.
//
// The principal is what the front has established, and the client is what the client
// program calls itself, name/version or the name alone, which takes in all its
// versions. Agent and task are claims of the caller; calls outside of sessions make
// none.
type Target struct {
	Agent     string             `json:"agent,omitempty"`
	Task      string             `json:"task,omitempty"`
	Session   tipstaff.SessionID `json:"session,omitempty"`
	Client    string             `json:"client,omitempty"`
	Principal string             `json:"principal,omitempty"`
}

// Holds reports whether the target takes in a request.
func (t Target) Holds(o tipstaff.Origin, s tipstaff.SessionID) bool {
	return t != (Target{}) &&
		(t.Agent == "" || t.Agent == o.Agent) &&
		(t.Task == "" || t.Task == o.Task) &&
		(t.Session == "" || t.Session == s) &&
		(t.Client == "" || isNamed(t.Client, o.Client) || isNamed(t.Client, ClientName(o.Client))) &&
		(t.Principal == "" || isNamed(t.Principal, o.Principal))
}

// isNamed reports whether a person means a caller: by its name, or by what people are
// shown of a name that has characters which cannot be seen.
func isNamed(pattern, name string) bool { return pattern == name || pattern == cmdline.Escape(name) }

// ClientName returns the name of a client without its version.
func ClientName(client string) string {
	if i := strings.LastIndexByte(client, '/'); i > 0 {
		return client[:i]
	}
	return client
}

// longestName bounds each name of a target, and LongestWhy a reason, in bytes.
const (
	longestName = 1000
	LongestWhy  = 1000
)

// Check refuses a target that names nobody, or more than any caller is called.
func (t Target) Check() error {
	if t == (Target{}) {
		return errors.New("say what to freeze: an agent, a task, a session, a client or a principal")
	}
	for _, name := range []string{t.Agent, t.Task, string(t.Session), t.Client, t.Principal} {
		if len(name) > longestName {
			return fmt.Errorf("a name has at most %d bytes", longestName)
		}
	}
	return nil
}

// String names the target in one printable line, as "agent build-agent, task BUILD-001".
func (t Target) String() string {
	var parts []string
	for _, p := range [...]struct{ what, name string }{
		{"agent", t.Agent}, {"task", t.Task}, {"session", string(t.Session)}, {"client", t.Client}, {"principal", t.Principal},
	} {
		if p.name != "" {
			parts = append(parts, p.what+" "+cmdline.Escape(p.name))
		}
	}
	return strings.Join(parts, ", ")
}

// Entry is a target that is frozen.
type Entry struct {
	Target
	Why string    `json:"why,omitempty"` // in the words of the person, for the agent too
	By  string    `json:"by,omitempty"`  // the name of the person's user
	UID int       `json:"uid"`           // of that user
	At  time.Time `json:"at"`
	// Operator is the name of the operator's key that has signed it, for all hosts of a
	// fleet; the user is one of the operator's machine then. "": it holds on this host.
	Operator string `json:"operator,omitempty"`
}
