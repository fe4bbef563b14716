package main

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/replicate"
	"tipstaff/internal/server/config"
)

// engineHelp is what the commands that read trails say about --engine.
const engineHelp = `

With --engine, the copies in the streams of an engine are read instead of files
(docs/scale.md). PATH then is the name of a runner, a gateway or a server, or
NAME/TRAIL; without it, all copies are read. The key and the certificates are
those of TIPSTAFF_ENGINE_AUDITOR, or of TIPSTAFF_ENGINE_CREDENTIALS if it is not set,
and of TIPSTAFF_ENGINE_TLS_*.`

// engineFlag says that copies are read, and where.
type engineFlag struct {
	servers, name string
	archives      archiveFlag
}

func (e *engineFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.servers, "engine", "", "read the copies of this engine: `addresses` as nats://HOST:PORT, with commas between them")
	cmd.Flags().StringVar(&e.name, "as", "", "with --engine, your `name` among the engine's members (default TIPSTAFF_AUDITOR_NAME)")
	e.archives.add(cmd)
	cmd.MarkFlagsMutuallyExclusive("engine", "archive")
}

// trailPlace is where trails are read.
type trailPlace struct {
	files   audit.Files
	copies  *replicate.Copies // nil: files of this machine
	servers string            // as they were given
}

// trails returns where to read, and the path there that args name.
func (e engineFlag) trails(cmd *cobra.Command, args []string) (trailPlace, string, error) {
	if e.servers == "" {
		if cmd.Flags().Changed("engine") {
			return trailPlace{}, "", fail(exitUsage, "--engine is empty; leave it out to read the trails of this machine")
		}
		path, err := trailPath(args)
		return trailPlace{files: e.archives.files()}, path, err
	}
	name, where := "", "."
	if len(args) == 1 {
		where = strings.TrimSuffix(args[0], "/")
		name, _, _ = strings.Cut(where, "/")
		if natsx.CheckName(name) != nil || !fs.ValidPath(where) {
			return trailPlace{}, "", fail(exitUsage, "%q names no copy: with --engine, PATH is the name of a runner, a gateway or a server, or NAME/TRAIL", args[0])
		}
	}
	conn, err := e.connect(cmd.Context())
	if err != nil {
		return trailPlace{}, "", err
	}
	context.AfterFunc(cmd.Context(), conn.Close)
	copies, err := replicate.ReadCopies(cmd.Context(), conn, name)
	if err != nil {
		return trailPlace{}, "", fail(exitFailure, "%w", err)
	}
	if n := copies.Strays(); n > 0 {
		say(cmd.ErrOrStderr(), "tipstaff: %s under subjects that are of no trail, and are not shown", plural(int64(n), "message of the streams is", "messages of the streams are"))
	}
	return trailPlace{files: audit.Files{In: copies}, copies: copies, servers: e.servers}, where, nil
}

// reachTime is how long a command waits for a connection.
const reachTime = 10 * time.Second

// connect connects as an auditor, who may read and nothing else.
func (e engineFlag) connect(ctx context.Context) (*natsx.Conn, error) {
	settings, err := config.FromEnvironment(os.Environ())
	if err != nil {
		return nil, fail(exitConfig, "cannot tell how to connect to the engine:\n%w", err)
	}
	o := settings.Engine.AuditorOptions(cmp.Or(e.name, settings.Engine.AuditorName))
	o.Servers = strings.Split(e.servers, ",")
	return reachEngine(ctx, o)
}

// reachEngine connects for one command, which waits reachTime at most. Why it cannot
// is its error, not its log.
func reachEngine(ctx context.Context, o natsx.Options) (*natsx.Conn, error) {
	o.Log = slog.New(slog.DiscardHandler)
	conn, err := natsx.Connect(ctx, o)
	if err != nil {
		return nil, fail(exitConfig, "%w", err)
	}
	wait, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	if err := conn.Wait(wait); err != nil {
		conn.Close()
		return nil, fail(exitFailure, "%w", err)
	}
	return conn, nil
}

// called is a path as people know it.
func (p trailPlace) called(where string) string {
	if p.copies == nil {
		return where
	}
	if where == "." {
		return "the streams of " + p.servers
	}
	return "the copies of " + where
}

// verify is the command that verifies a trail there.
func (p trailPlace) verify(trail string) []string {
	words := []string{"tipstaff", "audit", "verify"}
	if p.copies != nil {
		words = append(words, "--engine", p.servers)
	}
	return append(words, trail)
}

// refresh takes in what is new at the place, and reports whether that worked.
func (r *trailReader) refresh() bool {
	if r.from.copies == nil {
		return true
	}
	err := r.from.copies.Refresh()
	if err != nil && r.cmd.Context().Err() == nil && !r.away {
		say(r.cmd.ErrOrStderr(), "tipstaff: %v; trying on", err)
	}
	r.away = err != nil
	return err == nil
}
