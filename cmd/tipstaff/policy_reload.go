package main

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/decider"
	"tipstaff/internal/host"
	"tipstaff/internal/monitor"
	"tipstaff/internal/rules"
)

// lookInterval is how often the files of the policy are looked at: one stat for
// each. Watching by the kernel would be no surer: it misses network and overlay
// file systems, and has to hold on to every directory and link on the way, which
// a rename or a ConfigMap's swap of links takes from under it.
const lookInterval = time.Second

// rulebook keeps the policy file that decides, and reads it again.
type rulebook struct {
	st    *stack
	judge *judge

	decides atomic.Pointer[policyFile] // nil without a policy file

	outside *deciders
	beside  monitor.Decider // at the start
	client  *decider.Client // of the file's own decider; nil: it has none

	mu     sync.Mutex // one reload at a time
	tried  policyFile // the one that was read last, good or not
	fault  string     // of the last one, "" if it was good
	moving string     // the state of files that had changed at the last look
}

// file gives the policy that decides now; nil without a policy file.
func (b *rulebook) file() *rules.Policy {
	if f := b.decides.Load(); f != nil {
		return f.Policy
	}
	return nil
}

// refused reports whether the file that is there now cannot be used.
func (b *rulebook) refused() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fault != ""
}

// newRulebook sets out with the file that was just loaded, perhaps none.
func newRulebook(j *judge, outside *deciders) (*rulebook, error) {
	b := &rulebook{judge: j, tried: j.file, outside: outside}
	var err error
	if b.beside, b.client, err = outside.beside(j.file.Policy); err != nil {
		return nil, fail(exitConfig, "cannot use the policy file: %w", err)
	}
	if j.file.Policy != nil {
		b.decides.Store(&j.file)
	}
	return b, nil
}

// begin lets what the file says count for a server.
func (b *rulebook) begin(st *stack) {
	b.st = st
	b.settleAsks()
}

// settleAsks lets the file say how long people are waited for, and whether they
// may allow something for a whole session.
func (b *rulebook) settleAsks() {
	var a rules.Approvals
	if file := b.file(); file != nil {
		a = file.File.Approvals
	}
	b.st.asks.store.Configure(a.Wait.D, a.Remember.Value == "once")
}

// following is the policy file being read again, until end. The zero following
// is none.
type following struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// end returns when no file is read any more.
func (f following) end() {
	if f.cancel == nil {
		return
	}
	f.cancel()
	<-f.done
}

// followPolicy reads the policy file again when it changes, and at SIGHUP, until
// the stack is closed. Over HTTP the signal ends no server, file or not; on
// standard input and output, one without a file ends as every program does.
func (st *stack) followPolicy(ctx context.Context, overHTTP bool) {
	var hangups <-chan struct{}
	if overHTTP || st.rules.file() != nil {
		hangups = takeHangups(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	st.follows = following{cancel, make(chan struct{})}
	go func() {
		defer close(st.follows.done)
		st.rules.follow(ctx, hangups)
	}()
}

// follow reads the file again when it has changed, and whenever hangups says so,
// until ctx is done.
func (b *rulebook) follow(ctx context.Context, hangups <-chan struct{}) {
	var look <-chan time.Time
	if b.file() != nil {
		ticker := time.NewTicker(lookInterval)
		defer ticker.Stop()
		look = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			b.st.rereads.all()
			b.reload("signal")
		case <-look:
			b.lookAgain()
		}
	}
}

// lookAgain reads the file again if it has changed, and has rested since the
// look before: half a file that is just being written may be a good one, with
// fewer rules. It does not where a command may have changed it.
func (b *rulebook) lookAgain() {
	b.mu.Lock()
	state, _ := host.StateOf(b.tried.sources)
	again := b.tried.fresh
	if state != b.tried.state {
		again = state == b.moving
		b.moving = state
	}
	sources := b.tried.sources
	b.mu.Unlock()
	if again && b.st.rereads.keeper.May(sources...) {
		b.reload("change")
	}
}

// reload reads the file, and lets it decide if it can be used: parsed, checked,
// its own tests passed. Otherwise the last good one goes on deciding.
func (b *rulebook) reload(trigger string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.decides.Load()
	if old == nil {
		b.st.log.Info("asked to read the policy file again, but there is none; to take one up, start with --config or TIPSTAFF_CONFIG")
		return
	}
	next, err := loadPolicy(old.path)
	b.tried = next
	keepPolicy(b.st.rereads.keeper, next)
	asked := trigger == "signal"
	r := audit.Record{Event: audit.PolicyReload, Policy: &audit.Policy{Trigger: trigger, File: old.path, OldSHA256: old.Digest}}
	var beside monitor.Decider
	var client *decider.Client
	if err == nil {
		beside, client, err = b.outside.beside(next.Policy)
	}
	if err != nil {
		b.refuse(r, err, asked)
		return
	}
	describe(r.Policy, next.Policy)
	mended := b.fault != ""
	b.fault = ""
	if next.Digest == old.Digest {
		b.decides.Store(&next)
		r.Policy.Outcome = audit.PolicyUnchanged
		if asked || mended {
			b.st.log.Info("the policy file was read again and is as before", "file", old.path, "sha256", next.Digest)
			b.record(r)
		}
		return
	}
	b.st.monitor.Swap(b.judge.policy(next.Policy), beside)
	b.decides.Store(&next)
	b.settleAsks()
	if b.client != nil {
		b.client.Close() // of its idle connections: who is asking yet goes on
	}
	b.client = client
	r.Policy.Outcome = audit.PolicyLoaded
	b.st.log.Info("the policy file was read again and decides from now on", "file", old.path, "sha256", next.Digest, "old_sha256", old.Digest, "programs", r.Policy.Programs, "rules", r.Policy.Rules)
	warnOfPolicy(next.Policy, b.st.log)
	b.record(r)
}

// refuse says, once for each fault, that the file cannot be used.
func (b *rulebook) refuse(r audit.Record, err error, asked bool) {
	fault := err.Error()
	if known := fault == b.fault; known && !asked {
		return
	}
	r.Policy.Outcome = audit.PolicyRefused
	r.Why = "The policy file cannot be used; the last good one goes on deciding."
	r.Error = fault
	if fault != b.fault {
		b.st.log.Error("the policy file cannot be used; the last good one goes on deciding", "file", r.Policy.File, "error", fault, "deciding_sha256", r.Policy.OldSHA256)
	}
	b.fault = fault
	b.record(r)
}

func (b *rulebook) record(r audit.Record) {
	if err := b.st.monitor.Trail.Append(r); err != nil {
		b.st.log.Error("cannot write the audit trail", "event", string(r.Event), "error", err)
	}
}

// startRecord is the first record of a server.
func (b *rulebook) startRecord() audit.Record {
	r := audit.Record{Event: audit.ServerStart}
	if f := b.decides.Load(); f != nil {
		r.Policy = &audit.Policy{Outcome: audit.PolicyLoaded, Trigger: "start", File: f.path}
		describe(r.Policy, f.Policy)
	}
	return r
}

// describe says of a policy file what the record has of it.
func describe(to *audit.Policy, file *rules.Policy) {
	to.SHA256 = file.Digest
	to.Programs, to.Rules = len(file.Names()), file.Rules()
	for _, e := range file.File.Extends {
		if strings.HasPrefix(e.Value, "preset:") {
			to.Presets++
		}
	}
	to.Doubts = len(lintPolicy(file))
}

// hangupKey finds the hangups in a context.
type hangupKey struct{}

// hangups says what SIGHUP means: the end, until somebody takes it for something
// else. A server with a policy file reads it again, and so does one over HTTP,
// which has no terminal that could hang up.
type hangups struct {
	taken atomic.Pointer[chan struct{}]
}

// heard reports whether somebody has taken the signal for something else, and
// passes it on.
func (h *hangups) heard() bool {
	ch := h.taken.Load()
	if ch == nil {
		return false
	}
	select {
	case *ch <- struct{}{}:
	default: // one is on its way already, and the file has not been read yet
	}
	return true
}

// takeHangups takes SIGHUP, from now on.
func takeHangups(ctx context.Context) <-chan struct{} {
	ch := make(chan struct{}, 1)
	if h, ok := ctx.Value(hangupKey{}).(*hangups); ok {
		h.taken.Store(&ch)
	}
	return ch
}
