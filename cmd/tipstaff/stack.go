package main

import (
	"errors"
	"io"
	"log/slog"
	"os/user"
	"runtime"
	"time"

	"tipstaff"
	"tipstaff/internal/audit"
	"tipstaff/internal/config"
	"tipstaff/internal/host"
	"tipstaff/internal/mcpfront"
	"tipstaff/internal/monitor"
	"tipstaff/internal/own"
	"tipstaff/internal/policy"
	"tipstaff/internal/proc"
	"tipstaff/internal/redact"
	"tipstaff/internal/rules"
	"tipstaff/internal/runner"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/session"
)

// stack is a whole server, but for its front.
type stack struct {
	settings config.Settings
	log      *slog.Logger
	rules    *rulebook
	host     *host.Host
	trail    *audit.Trail
	modes    *sandbox.Modes
	engine   *proc.Engine
	sandbox  *sandbox.Sandbox
	monitor  *monitor.Monitor
	sessions *session.Store // nil without terminal access
	asks     *asks
	secrets  *redact.Redactor
	eyes     *eyes
	watch    watchers
	tried    *tried
	follows  following
	rereads  rereads
}

// newStack puts the parts of a server on top of each other and writes the
// first record. The caller closes it.
func newStack(s config.Settings, log *slog.Logger) (*stack, error) {
	k, err := newKeeper(s, again(s, false), log)
	if err != nil {
		return nil, err
	}
	return newWatchedStack(s, k, log, watchers{})
}

// newWatchedStack is newStack with a keeper, which the stack closes, and watchers.
func newWatchedStack(s config.Settings, k *own.Keeper, log *slog.Logger, watch watchers) (*stack, error) {
	j, err := newKeptJudge(s, k, log)
	if err != nil {
		return nil, err
	}
	h := j.host
	if s.Terminal {
		h.Allowlist(tipstaff.Terminal) // read before a command can change it
	}
	eyes, err := newEyes(s, log)
	if err != nil {
		return nil, err
	}
	secrets := redact.New(redact.Secrets(s.Environ))
	outside, err := newDeciders(s, secrets, watch, log)
	if err != nil {
		return nil, err
	}
	book, err := newRulebook(j, outside)
	if err != nil {
		return nil, err
	}
	modes := sandbox.NewModes(log)
	trail, err := newTrail(s, log, eyes, secrets, modes)
	if err != nil {
		return nil, err
	}
	engine, err := proc.NewEngine(proc.Options{StateDir: s.StateDir})
	if err != nil {
		return nil, fail(exitFailure, "cannot start commands on this machine: %w", errors.Join(err, trail.Close()))
	}
	box, err := newSandbox(s, engine, h, k, log, modes)
	if err != nil {
		return nil, errors.Join(err, engine.Close(), trail.Close())
	}
	kept := &tried{Trail: watch.trail(trail)}
	m := j.monitor()
	m.Trail, m.Log = kept, log
	m.Runner = runner.NewWithSlots(watch.runner(runner.Local{Engine: engine, Sandbox: box, Hidden: j.environment.Hidden(), Recorder: newRecorder(s, trail, secrets), Lender: newLender(s, h, engine, secrets), Log: log}), slots(s))
	m.Sandbox = recordedUnder(box)
	m.Decider = book.beside
	asks, err := newAsks(m)
	if err != nil {
		return nil, errors.Join(err, box.Close(), engine.Close(), trail.Close())
	}
	st := &stack{settings: s, modes: modes, log: log, rules: book, host: h, trail: trail, engine: engine, sandbox: box, monitor: m, asks: asks, secrets: secrets, eyes: eyes, watch: watch, tried: kept, rereads: rereads{keeper: k, host: h}}
	if s.Terminal {
		st.sessions = session.NewStore(session.Options{Max: s.MaxSessions, OwnMax: s.OwnSessions(), Idle: s.SessionIdle, Recorder: endings{m, box}})
	}
	book.begin(st)
	watch.metrics.TellTier(func() string { return box.Status().Tier })
	watch.metrics.TellApprovals(asks.store.Pending)
	if err := m.Trail.Append(book.startRecord()); err != nil {
		log.Error("cannot write the audit trail; commands are refused until it can be written", "dir", s.AuditDir(), "error", err)
	}
	return st, nil
}

// newPolicy makes the whole policy of some settings and a policy file, nil for
// none. What changes when the file does is in here and nowhere else.
func newPolicy(s config.Settings, mode policy.ArgumentMode, environment *policy.Environment, file *rules.Policy) *policy.Policy {
	return policy.New(policy.Settings{Limits: limits(s), Arguments: mode, Environment: environment, File: file, Roots: s.AllowedRoots})
}

// newTrail begins the record of this server.
func newTrail(s config.Settings, log *slog.Logger, e *eyes, secrets *redact.Redactor, modes *sandbox.Modes) (*audit.Trail, error) {
	durability, err := audit.ParseDurability(s.AuditDurability)
	if err != nil {
		return nil, fail(exitConfig, "cannot start with these settings:\nTIPSTAFF_AUDIT_DURABILITY: %w", err)
	}
	trail, err := audit.Create(s.AuditDir(), audit.Options{
		Redactor:     secrets,
		OSUser:       osUser(),
		Durability:   durability,
		OnCheckpoint: e.watched(keepCheckpoints(s.AuditCheckpoints, log)),
		OnRecord:     e.record,
		Mend:         modes.Restore,
	})
	if err == nil {
		err = modes.Add(s.StateDir, s.AuditDir(), trail.Path())
	}
	if err != nil {
		return nil, fail(exitFailure, "cannot make an audit trail in %s: %w\nNo record, no run: set TIPSTAFF_STATE_DIR to a directory that this user can write", s.AuditDir(), err)
	}
	return trail, nil
}

// announceKey tells the operator of a key that this server has made.
func (st *stack) announceKey() {
	if key := st.trail.Key(); key.Made {
		st.log.Info("made the key that signs the audit trail; keep its public part where this machine cannot change it, to verify with", "public_key", key.Public, "file", key.Path)
	}
}

// slots is how many commands run at once: by default four for each processor,
// because most wait for something.
func slots(s config.Settings) int {
	if s.MaxConcurrent > 0 {
		return s.MaxConcurrent
	}
	return 4 * runtime.NumCPU()
}

func limits(s config.Settings) map[tipstaff.Family]policy.Limits {
	return map[tipstaff.Family]policy.Limits{
		tipstaff.Execute:  {DefaultTimeout: s.ExecuteDefaultTimeout, MaxTimeout: s.ExecuteMaxTimeout, OutputBytes: s.MaxOutputBytes},
		tipstaff.Terminal: {DefaultTimeout: s.TerminalDefaultTimeout, MaxTimeout: s.TerminalMaxTimeout, OutputBytes: s.MaxOutputBytes},
	}
}

// front makes the front for one connection.
func (st *stack) front() *mcpfront.Server {
	return mcpfront.NewServer(mcpfront.Options{
		Version: version, Road: st.watch.road(st.monitor), Sessions: st.sessions, Log: st.log, Events: st.eyes.bus,
		Approvals: st.asks.front(), Redactor: st.secrets,
		Instructions: func(who tipstaff.Origin) string { return mcpfront.Instructions(st.summary(who)) },
		Allowed:      st.allowed,
	})
}

// close ends what still runs, writes the last record and lets go of the trail.
func (st *stack) close(reason string) {
	st.follows.end()
	if st.sessions != nil {
		st.sessions.CloseAll(reason)
	}
	st.monitor.Wait()
	if err := st.asks.close(); err != nil {
		st.log.Error("cannot close the control socket", "error", err)
	}
	if err := errors.Join(st.sandbox.Close(), st.engine.Close()); err != nil {
		st.log.Error("cannot clean up behind the commands", "error", err)
	}
	if err := st.monitor.Trail.Append(audit.Record{Event: audit.ServerStop, Why: reason}); err != nil {
		st.log.Error("cannot write the audit trail", "error", err)
	}
	if err := errors.Join(st.trail.Close(), st.modes.Close()); err != nil {
		st.log.Error("cannot close the audit trail", "error", err)
	}
	st.eyes.close()
	st.rereads.keeper.Close()
}

func osUser() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// newLog writes structured lines: standard output belongs to the protocol.
func newLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.String("time", a.Value.Time().UTC().Format(time.RFC3339Nano))
			}
			return a
		},
	}))
}
