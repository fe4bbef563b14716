package credentials

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"tipstaff"
	"tipstaff/internal/proc"
	"tipstaff/internal/rules"
)

// Options are what the server has to lend.
type Options struct {
	Engine *proc.Engine
	// Git gives the path of the operator's git.
	Git func() (string, error)
	// Environ is the server's environment, each "NAME=value".
	Environ []string
	// Dir is a directory of the server's in which no repository is.
	Dir string
	// Learn is told every password that is given, so that it can be hidden wherever
	// a command prints it; nil: nobody is.
	Learn func(password string)
}

// Lender lends credentials to commands. Its methods may be called from many
// goroutines at once.
type Lender struct {
	filler filler
	socket string // of the agent; "": there is none
	learn  func(string)
}

// New makes a lender.
func New(o Options) *Lender {
	l := &Lender{
		filler: filler{engine: o.Engine, git: o.Git, environ: o.Environ, dir: o.Dir, slots: make(chan struct{}, maxFills)},
		learn:  o.Learn,
	}
	if l.learn == nil {
		l.learn = func(string) {}
	}
	for _, kv := range slices.Backward(o.Environ) { // of two the first counts: getenv(3)
		if socket, is := strings.CutPrefix(kv, "SSH_AUTH_SOCK="); is {
			l.socket = socket
		}
	}
	return l
}

// Git gives the path of the operator's git.
func (l *Lender) Git() (string, error) { return l.filler.git() }

// Names of the doors.
const (
	AgentDoor = "ssh-agent"
	GitDoor   = "git"
)

// Lent is what one command is lent by way of doors.
type Lent struct {
	lender      *Lender
	credentials rules.Credentials
	count       tally

	mu    sync.Mutex
	hosts hosts
}

// ByDoor reports whether credentials need doors.
func ByDoor(c rules.Credentials) bool {
	_, git := c.Of(rules.GitCredential)
	_, agent := c.Of(rules.AgentCredential)
	return git || agent
}

// Lend gets ready what a command is lent. git's passwords are lent for no host until
// [Lent.FindRemotes].
func (l *Lender) Lend(c rules.Credentials) *Lent { return &Lent{lender: l, credentials: c} }

// Doors gives what serves a connection at each door, by name, until the context
// ends.
func (l *Lent) Doors() map[string]func(context.Context, *os.File) {
	doors := map[string]func(context.Context, *os.File){}
	if keys, lent := l.credentials.Of(rules.AgentCredential); lent {
		door := &agentDoor{dial: l.lender.dialAgent, keys: keys, count: &l.count}
		doors[AgentDoor] = func(ctx context.Context, conn *os.File) { door.serve(ctx, conn) }
	}
	if _, lent := l.credentials.Of(rules.GitCredential); lent {
		door := &helperDoor{fill: l.lender.filler.fill, hosts: l.remotes, learn: l.lender.learn, count: &l.count}
		doors[GitDoor] = door.serve
	}
	return doors
}

// agentDial bounds the connection to the agent.
const agentDial = 5 * time.Second

var errNoAgent = errors.New("the server has none (SSH_AUTH_SOCK)")

func (l *Lender) dialAgent() (net.Conn, error) {
	if l.socket == "" {
		return nil, errNoAgent
	}
	return net.DialTimeout("unix", l.socket, agentDial)
}

// reasonWithoutPath says what is wrong with the agent without saying where it is.
func reasonWithoutPath(err error) string {
	var errno syscall.Errno
	switch {
	case errors.Is(err, errNoAgent):
		return err.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "its socket is gone"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "it does not answer"
}

func (l *Lent) remotes() hosts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hosts
}

// FindRemotes finds out for which hosts git's passwords are lent, before the command
// starts: see [Asker].
func (l *Lent) FindRemotes(ctx context.Context, argv []string, ask Asker) {
	only, lent := l.credentials.Of(rules.GitCredential)
	if !lent {
		return
	}
	found := remotes(ctx, argv, only, ask)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts = found
}

// Env gives the environment of the command, with what leads its programs to the
// doors at these paths.
func (l *Lent) Env(env []string, path func(door string) string) []string {
	env = slices.Clone(env)
	if at := path(AgentDoor); at != "" {
		env = append(env, "SSH_AUTH_SOCK="+at)
	}
	if at := path(GitDoor); at != "" {
		env = withSettings(env, [][2]string{
			{"credential.helper", ""}, // the operator's own do not work in there
			{"credential.helper", "cache --timeout=1 --socket=" + at},
		})
	}
	return env
}

// withSettings adds settings of git's to those that an environment has: git-config(1),
// GIT_CONFIG_COUNT.
func withSettings(env []string, settings [][2]string) []string {
	const count = "GIT_CONFIG_COUNT="
	n := 0
	env = slices.DeleteFunc(env, func(kv string) bool {
		text, is := strings.CutPrefix(kv, count)
		if is {
			n, _ = strconv.Atoi(text)
		}
		return is
	})
	n = max(n, 0)
	for _, s := range settings {
		at := strconv.Itoa(n)
		env = append(env, "GIT_CONFIG_KEY_"+at+"="+s[0], "GIT_CONFIG_VALUE_"+at+"="+s[1])
		n++
	}
	return append(env, count+strconv.Itoa(n))
}

// Used says what the command did with what it was lent.
func (l *Lent) Used() []tipstaff.CredentialUse { return l.count.list() }

// Told gives sentences for the caller: what was asked for and is not lent.
func (l *Lent) Told() []string { return l.count.told() }
