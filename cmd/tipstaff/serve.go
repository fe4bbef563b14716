package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"tipstaff/internal/server/config"
)

func newServe() *cobra.Command {
	var o serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP on standard input and output, or over HTTP",
		Long: `Serve MCP on standard input and output, until the client closes its end; or,
with --http, over HTTP at /mcp, until a signal ends the server. Who comes over
HTTP has to show who that is: with TIPSTAFF_TOKEN, or as the user of a Unix socket.

What may run is set in the environment:
  ALLOWED_COMMANDS        programs for execute_*, as "git,ls" or "*"; empty allows none
  TIPSTAFF_CONFIG         the policy file (docs/policy.md); lists that are set narrow it
  ALLOWED_CWD_ROOTS       directories that cwd is confined to, as "/srv/a,/srv/b"
  ENABLE_TERMINAL_ACCESS  "true" offers the terminal_* tools
  TERMINAL_ALLOWLIST_PATH their allowlist, ./apps/tools/caws/tools-allow.json
  TIPSTAFF_STATE_DIR      where the audit trail is kept
README.md has the whole list. Logs go to standard error.`,
		Example: `  ALLOWED_COMMANDS=git,ls tipstaff serve
  ALLOWED_COMMANDS=git,ls tipstaff serve --metrics 127.0.0.1:9464
  ALLOWED_COMMANDS=git,ls tipstaff serve --http 127.0.0.1:7075
  ALLOWED_COMMANDS=git,ls tipstaff serve --http unix:/run/user/1000/tipstaff.sock`,
		Args: o.addressAlone,
		RunE: func(cmd *cobra.Command, args []string) error { return serve(cmd.Context(), o.with(args)) },
	}
	o.declare(cmd)
	return cmd
}

// gcPercent lets the heap grow further between collections: the protocol
// library allocates 32 KiB and more for every message, so the collector would
// otherwise run every few dozen calls. BENCHMARKS.md has the figures.
const gcPercent = 400

// memoryLimit makes the collector run before the garbage of large answers adds
// up: an answer of 1 MiB is copied half a dozen times before it is sent, and a
// command's output must not cost more than 64 MB (contract T5). The limit is
// soft: memory that is really in use may exceed it.
const memoryLimit = 40 << 20

// tuneCollector prepares the runtime for a server, before it makes anything.
func tuneCollector() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	spareProcessor()
}

// spareProcessor lets one goroutine more run than the machine has processors.
// The guard of files that steer other programs has to be woken while all others
// are busy. The kernel shares the processors better than the runtime does,
// which lets a goroutine run for 10 ms.
func spareProcessor() { runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1) }

// settings reads the settings, which the flags take precedence over, and examines them.
func (o serveFlags) settings() (config.Settings, error) {
	s, err := o.config.settings()
	if err != nil {
		return s, err
	}
	s.HTTP.Address, s.Metrics = o.httpAddress(s), o.metricsAddress(s)
	if s, err = withEngine(s, o.engine); err != nil {
		return s, err
	}
	return s, startable(s)
}

func serve(ctx context.Context, o serveFlags) error {
	tuneCollector()
	settings, err := o.settings()
	if err != nil {
		return err
	}
	return serveWith(ctx, settings)
}

// serveWith serves with settings in which no server fails that were examined by
// startable: on standard input and output, over HTTP, or as the gateway of a fleet. It
// returns when the client closes its end, or when the context ends.
func serveWith(ctx context.Context, settings config.Settings) error {
	log, lines := newQueuedLog(os.Stderr)
	defer lines.close()
	if settings.Engine.On() {
		return serveEngine(ctx, settings, log, lines)
	}
	k, err := newKeeper(settings, again(settings, settings.HTTP.Address != ""), log)
	if err != nil {
		return err
	}
	d, err := openGate(ctx, settings.HTTP.Address, settings, k, log)
	if err != nil {
		return err
	}
	defer d.close()
	counts, unlisten, err := openMetrics(ctx, settings.Metrics, log)
	if err == nil && counts == nil && d != nil {
		counts = newMetrics() // for /metrics
	}
	if err != nil {
		return err
	}
	defer unlisten()
	counts.TellLog(lines.Lost)
	spans, endTraces := openTraces(ctx, settings, log)
	defer endTraces()
	st, err := newServerStack(settings, k, log, telemetry{counts, spans})
	if err != nil {
		return err
	}
	d.rereads(st)
	st.announceKey()
	st.startKeeping()
	st.warn()
	st.openDoor()
	st.followPolicy(ctx, d != nil)
	if d != nil {
		return d.serve(ctx, st)
	}
	stop := followMemory(memoryLimit)
	defer stop()
	err = st.front().ServeStdio(ctx, os.Stdin, os.Stdout)
	st.close(endReason(ctx))
	switch {
	case err != nil:
		return fail(exitFailure, "%w", err)
	case errors.Is(context.Cause(ctx), errInterrupted):
		return &exitError{code: exitInterrupted}
	}
	return nil
}

// endReason returns the reason for the server's end that goes into the record.
func endReason(ctx context.Context) string {
	if cause := context.Cause(ctx); cause != nil {
		return cause.Error()
	}
	return "client closed its end"
}
