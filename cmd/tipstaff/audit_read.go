package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
	"tipstaff/internal/command/cmdline"
)

// trailsHelp is pathHelp with what --engine changes.
const trailsHelp = pathHelp + engineHelp

// pathHelp is the help text of all commands that read trails, about their
// argument.
const pathHelp = `PATH is a trail, one of its files, or a directory of trails; without it, all
trails of this user's state directory are read, merged in order of time.`

// filterFlags are the flags that select records.
type filterFlags struct{ asked query.Query }

func (f *filterFlags) add(cmd *cobra.Command) {
	flags, a := cmd.Flags(), &f.asked
	flags.StringVar(&a.Agent, "agent", "", "of this `name`, as the caller gave it")
	flags.StringVar(&a.Task, "task", "", "of this `name`, as the caller gave it")
	flags.StringVar(&a.Session, "session", "", "of the session with this `id`")
	flags.StringVar(&a.Command, "command", "", "of the command with this `id`, its trace.command_id")
	flags.StringVar(&a.Principal, "principal", "", "of this authenticated `caller`")
	flags.StringVar(&a.Event, "event", "", "with this `name`, as command.end, or command.* for all of a kind")
	flags.StringVar(&a.Code, "code", "", "with this `code`, as COMMAND_NOT_ALLOWED")
	flags.StringVar(&a.Cmd, "cmd", "", "of commands with this `word` as program or argument; npm* for a beginning")
	flags.StringVar(&a.Exit, "exit", "", "of commands that ended with this `code`; '!=0' for all that failed")
	flags.BoolVar(&a.Denied, "denied", false, "refusals of every kind")
	flags.StringVar(&a.Since, "since", "", "from this `time` on: RFC 3339, or how long ago as 30m, 2h, 7d")
	flags.StringVar(&a.Until, "until", "", "before this `time`, written in the same way")
}

// filter reads the flags. Its errors are usage errors.
func (f *filterFlags) filter(cmd *cobra.Command, now time.Time) (*query.Filter, error) {
	for _, name := range []string{"agent", "task", "session", "command", "principal", "event", "code", "cmd", "exit", "since", "until"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return nil, fail(exitUsage, "--%s is empty; leave it out if it does not matter", name)
		}
	}
	out, err := f.asked.Filter(now)
	if err != nil {
		return nil, fail(exitUsage, "--%w", err)
	}
	return out, nil
}

// knownEvents are the names that this version writes.
func knownEvents() []audit.Event {
	return []audit.Event{
		audit.ServerStart, audit.ServerStop, audit.SessionCreate, audit.SessionRefused, audit.SessionClose,
		audit.CommandAsked, audit.CommandStart, audit.CommandEnd, audit.CommandRefused, audit.CommandError, audit.CommandLost, audit.CommandInput, audit.CommandStopped, audit.CommandJudged, audit.CommandReported, audit.CallRefused, audit.PolicyReload,
		audit.SessionStopped, audit.FreezeSet, audit.FreezeLifted, audit.ClockChanged, audit.KeyReplaced,
	}
}

// sayNothingFound says that no record matches, and points out likely typing
// errors.
func sayNothingFound(w io.Writer, f *query.Filter) {
	var names []string
	for _, e := range knownEvents() {
		if string(e) == f.Event.Text || f.Event.Prefix && strings.HasPrefix(string(e), f.Event.Text) || f.Event.Text == "" {
			say(w, "Nothing found.")
			return
		}
		names = append(names, string(e))
	}
	say(w, "Nothing found. The events of this version are %s.", strings.Join(names, ", "))
}

// trailReader is what the commands that read trails have in common.
type trailReader struct {
	cmd    *cobra.Command
	from   trailPlace
	path   string
	trails []query.Trail
	filter *query.Filter
	out    *bufio.Writer
	screen screen
	away   bool // the place could not be reached when it was last asked
}

// openTrails finds the trails that args name. If there are none it has said so,
// and the reader has no trails.
func openTrails(cmd *cobra.Command, args []string, engine engineFlag, f *query.Filter, noColor bool) (*trailReader, error) {
	from, path, err := engine.trails(cmd, args)
	if err != nil {
		return nil, err
	}
	r := &trailReader{cmd: cmd, from: from, path: path, filter: f, out: bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10), screen: screenOf(cmd.OutOrStdout(), noColor)}
	r.trails, err = query.FindIn(from.files, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(args) == 0:
		say(cmd.ErrOrStderr(), "There is no trail yet: %s does not exist.", cmdline.Escape(path))
	case err != nil:
		return nil, fail(exitFailure, "%w", err)
	case len(r.trails) == 0:
		say(cmd.ErrOrStderr(), "There is no trail in %s.", cmdline.Escape(from.called(path)))
	}
	r.sayAway()
	return r, nil
}

// sayAway says which archives are not there, whose records are missing in what follows.
func (r *trailReader) sayAway() {
	away := map[string]int64{}
	for i := range r.trails {
		if to := r.trails[i].Away; to != "" {
			away[to]++
		}
	}
	for _, to := range slices.Sorted(maps.Keys(away)) {
		say(r.cmd.ErrOrStderr(), "tipstaff: records of %s lie in the archive %s, which is not there now, and are left out; say where it is with --archive", plural(away[to], "trail", "trails"), cmdline.Escape(to))
	}
}

// end writes what is left, reports lines that were skipped, and turns err into
// an exit code.
func (r *trailReader) end(err error, faults query.Faults) error {
	if flushed := r.out.Flush(); err == nil {
		err = flushed
	}
	r.sayFaults(faults)
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE): // a closed pipe means that the reader has seen enough
		return nil
	case errors.Is(err, errInterrupted), errors.Is(context.Cause(r.cmd.Context()), errInterrupted):
		return &exitError{code: exitInterrupted}
	}
	var known *exitError
	if errors.As(err, &known) {
		return err
	}
	return fail(exitFailure, "%w", err)
}

func (r *trailReader) sayFaults(f query.Faults) {
	if f.Torn+f.Bad == 0 {
		return
	}
	what := fmt.Sprintf("%s passed over that %s no record", plural(f.Bad, "line was", "lines were"), oneOrMany(f.Bad, "is", "are"))
	switch {
	case f.Bad == 0:
		what = fmt.Sprintf("%s torn: by a crash, or a server is writing just now", plural(f.Torn, "last line is", "last lines are"))
	case f.Torn > 0:
		what += fmt.Sprintf(", and %s torn", plural(f.Torn, "last line", "last lines"))
	}
	check := cmdline.Display(r.from.verify(filepath.Dir(f.First.File)))
	say(r.cmd.ErrOrStderr(), "tipstaff: %s (%s). To learn what happened to the trail: %s", what, cmdline.Escape(f.First.String()), check)
}

func plural(n int64, one, many string) string {
	return fmt.Sprintf("%d %s", n, oneOrMany(n, one, many))
}

func oneOrMany(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// printRaw writes a record as it is in the trail. On a terminal, unprintable
// characters are replaced by JSON escapes with the same meaning.
func (r *trailReader) printRaw(l *query.Line) error {
	raw := l.Raw
	if r.screen.terminal {
		raw = audit.AppendPrintable(nil, raw)
	}
	if _, err := r.out.Write(raw); err != nil {
		return err
	}
	return r.out.WriteByte('\n')
}
