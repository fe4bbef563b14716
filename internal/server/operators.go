package server

import (
	"context"
	"os"
	"sync"
	"time"

	"tipstaff/internal/admin/api"
	"tipstaff/internal/exit"
	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
)

// operators is what a gateway or a runner has for the people who look after a fleet: it
// answers them over the engine, and knows whom they have frozen. A nil operators is
// none.
type operators struct {
	member  *api.Member
	stop    context.CancelFunc
	watches sync.WaitGroup
}

// openToOperators lets operators see, stop and freeze what this server runs, if the
// settings name their keys; otherwise they are told why not. It comes before any
// command, and before the control socket.
func (st *Stack) openToOperators(ctx context.Context, conn *natsx.Conn, self natsx.Peer) error {
	var known natsx.Operators
	if file := st.settings.Engine.OperatorsFile; file != "" {
		var err error
		if known, err = natsx.ReadOperators(file); err != nil {
			return exit.Errorf(exit.Config, "cannot start with these settings:\nTIPSTAFF_ENGINE_OPERATORS: %w", err)
		}
	}
	service := newAdminService(st)
	o := &operators{}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	o.stop = stop
	if known != nil {
		st.fleetFreezes = fleet.NewFreezes(fleet.FreezesOptions{
			Conn: conn, Operators: known, Record: st.takeUp, Log: st.Log,
			Ended: func(w fleet.FreezeOrder) { service.end(w.Person(), w.Target, false, "frozen its caller") },
		})
		st.freezes.Others = st.fleetFreezes.Entries
		o.watches.Go(func() { st.fleetFreezes.Watch(watching) })
	}
	host, _ := os.Hostname() // people see the name of the member as well
	member, err := api.Join(api.MemberOptions{
		Conn: conn, Self: self, Verifier: natsx.NewPersonVerifier(self, known, time.Now),
		Questions: st.questions.store, Service: service, Host: host, Log: st.Log,
	})
	if err != nil {
		o.close()
		return exit.Errorf(exit.Failure, "cannot listen to operators over the engine: %w", err)
	}
	o.member, st.operators = member, o
	return nil
}

func (o *operators) close() {
	if o == nil {
		return
	}
	o.stop()
	if o.member != nil {
		o.member.Close()
	}
	o.watches.Wait()
}
