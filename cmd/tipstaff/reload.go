package main

import (
	"context"

	"tipstaff/internal/decider"
	"tipstaff/internal/policyfile"
	"tipstaff/internal/reload"
	"tipstaff/internal/rules"
)

// newReloader reads the policy file again for a server. The stack is whole but for
// it.
func (st *stack) newReloader() *reload.Reloader {
	return reload.New(reload.Options{
		File: st.evaluator.file, Prepare: st.prepare, Keeper: st.rereads.keeper,
		Read:   func(f policyfile.File) { keepPolicy(st.rereads.keeper, f) },
		Others: func() { st.rereads.all() },
		Trail:  st.monitor.Trail, Log: st.log,
	})
}

// prepare makes what it takes for a policy file to decide, nil for none: the decider
// that it names. What it gives lets the file decide, and does not fail.
func (st *stack) prepare(file *rules.Policy) (decide func(), err error) {
	beside, client, err := st.deciders.beside(file)
	if err != nil {
		return nil, err
	}
	return func() {
		st.monitor.Swap(st.evaluator.policy(file), beside)
		var a rules.Approvals
		if file != nil {
			st.sandbox.AllowControl(file.Control())
			a = file.File.Approvals
		}
		st.questions.store.Configure(a.Wait.D, a.Remember.Value == "once")
		st.deciders.use(client)
	}, nil
}

// use closes the client of the file's own decider that was asked before, and keeps
// the one that is asked from now on; nil without one.
func (d *deciders) use(client *decider.Client) {
	if d.own != nil {
		d.own.Close() // of its idle connections: who is asking yet goes on
	}
	d.own = client
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
	if overHTTP || st.policy.Policy() != nil {
		hangups = takeHangups(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	st.follows = following{cancel, make(chan struct{})}
	go func() {
		defer close(st.follows.done)
		st.policy.Follow(ctx, hangups)
	}()
}
