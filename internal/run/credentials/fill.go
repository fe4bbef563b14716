package credentials

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"tipstaff/internal/plainfile"
	"tipstaff/internal/proc"
)

// filler asks the operator's own git for passwords, outside of all sandboxes
// and repositories: git credential fill, with the helpers that the operator has
// configured.
type filler struct {
	engine  *proc.Engine
	git     func() (string, error) // returns the program's path
	environ []string
	dir     string        // a directory outside of all repositories
	slots   chan struct{} // bounds the concurrent runs
}

const (
	fillPatience = 10 * time.Second
	maxFills     = 4
	maxAnswer    = 64 << 10
)

// fill asks for one password. It never prompts a person.
func (f *filler) fill(ctx context.Context, q question) (answer, error) {
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
	git, err := f.git()
	if err != nil {
		return answer{}, err
	}
	dir, err := plainfile.OpenDir(f.dir)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = dir.Close() }()
	text, err := Output(ctx, f.engine, proc.Launch{
		Path: git, Argv: []string{"git", "credential", "fill"}, Env: fillEnvironment(f.environ, f.dir), Dir: dir.Fd(), DirPath: f.dir,
	}, q.text(), maxAnswer, fillPatience)
	if err != nil {
		return answer{}, err
	}
	return parseAnswer(string(text), q)
}

var errOther = errors.New("git has answered for another protocol or host")

// parseAnswer parses git's output, and compares it with the question.
func parseAnswer(text string, q question) (a answer, err error) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch key {
		case "protocol":
			if value != q.protocol {
				return answer{}, errOther
			}
		case "host":
			if value != q.host {
				return answer{}, errOther
			}
		case "username":
			a.username = value
		case "password":
			a.password = value
		}
	}
	return a, nil
}

// fillEnvironment returns the server's environment, which the operator's
// helpers need, without the variables that select a repository or prompt a
// person.
func fillEnvironment(environ []string, dir string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_CONFIG") || name == "SSH_ASKPASS" || strings.HasPrefix(name, "TIPSTAFF_") {
			continue
		}
		out = append(out, kv)
	}
	return append(out, "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "GCM_INTERACTIVE=never", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
}
