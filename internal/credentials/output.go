package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tipstaff/internal/proc"
)

// endGrace is what a program that has answered, or has had its time, gets to end.
const endGrace = 100 * time.Millisecond

// Output runs a program of tipstaff's own choice, gives it input, and returns what
// it prints, at most so many bytes. It is ended with all that it has started when it
// has had its time. No command of a caller's runs by it.
func Output(ctx context.Context, e *proc.Engine, l proc.Launch, input string, bytes int, patience time.Duration) ([]byte, error) {
	feed, in, err := proc.Pipe(false)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := proc.Pipe(true)
	if err != nil {
		return nil, errors.Join(err, in.Close(), feed.Close())
	}
	defer func() { _ = ours.Close() }()
	l.Stdin, l.Stdout = in, theirs
	p, err := e.Start(l)
	_, _ = in.Close(), theirs.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot start %s: %w", l.Path, err), feed.Close())
	}
	_ = feed.SetDeadline(time.Now().Add(patience))
	_ = ours.SetDeadline(time.Now().Add(patience))
	forget := context.AfterFunc(ctx, func() { _ = ours.SetDeadline(time.Now()) })
	defer forget()
	_, failed := io.WriteString(feed, input)
	_ = feed.Close()
	text, err := io.ReadAll(io.LimitReader(ours, int64(bytes)+1))
	exited := p.Await(ctx, patience)
	p.End(endGrace)
	st := p.Status()
	switch {
	case !exited || st.Err != nil:
		return nil, fmt.Errorf("%s did not answer within %v", l.Path, patience)
	case st.ExitCode != 0 || st.Signal != 0:
		return nil, fmt.Errorf("%s ended with exit code %d, signal %d", l.Path, st.ExitCode, st.Signal)
	case failed != nil || err != nil:
		return nil, errors.Join(failed, err)
	case len(text) > bytes:
		return nil, fmt.Errorf("%s printed more than %d bytes", l.Path, bytes)
	}
	return text, nil
}
