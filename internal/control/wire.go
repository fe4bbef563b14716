package control

import (
	"time"

	"tipstaff/internal/approval"
	"tipstaff/internal/argv"
	"tipstaff/internal/policy"
)

// request is the message of a client.
type request struct {
	Op      string `json:"op"` // "list", "approve", "deny"
	Handle  string `json:"handle,omitempty"`
	Session bool   `json:"session,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// reply is the message of the server.
type reply struct {
	Error     string     `json:"error,omitempty"`
	NotOpen   bool       `json:"not_open,omitempty"` // this server does not have the handle
	Questions []Question `json:"questions,omitempty"`
}

// Question is an open question in the form for people on this host.
type Question struct {
	Approval  string    `json:"approval"` // its handle
	State     string    `json:"state"`    // pending, granted (and not used yet), or denied (and the caller is not told yet)
	Expires   time.Time `json:"expires"`
	Argv      []string  `json:"argv"`
	Command   string    `json:"command"` // argv as one printable line
	Program   string    `json:"program"`
	Directory string    `json:"directory"`
	Principal string    `json:"principal,omitempty"`
	Client    string    `json:"client,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Task      string    `json:"task,omitempty"`
	Session   string    `json:"session,omitempty"`
	Rule      string    `json:"rule,omitempty"`
	At        string    `json:"at,omitempty"`
	Why       string    `json:"why,omitempty"`
	// Credentials is what the command is lent.
	Credentials []string `json:"credentials,omitempty"`
	Text        string   `json:"text"`   // the whole question, in printable lines
	Server      int      `json:"server"` // process id
}

func questionOf(q policy.Question, state policy.Outcome, until time.Time, pid int) Question {
	return Question{
		Approval: q.Handle, State: string(state), Expires: until.UTC().Truncate(time.Millisecond), Argv: q.Argv, Command: argv.Display(q.Argv),
		Program: q.File, Directory: q.Dir, Principal: q.Origin.Principal, Client: q.Origin.Client, Agent: q.Origin.Agent, Task: q.Origin.Task,
		Session: string(q.Session), Rule: q.Rule, At: q.At, Why: q.Why, Credentials: q.Credentials, Text: approval.Show(q), Server: pid,
	}
}

// directory is the directory of the sockets, below the state directory.
const directory = "control"

const (
	suffix = ".sock"
	// fresh is the prefix of a socket's name before it listens.
	fresh = ".new-"
)

// patience bounds one connection, maxRequest a client's request.
const (
	patience   = 5 * time.Second
	maxRequest = 16 << 10
)
