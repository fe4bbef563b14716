package admin

import (
	"context"
	"log/slog"

	"tipstaff/internal/admin/console"
	"tipstaff/internal/exit"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/replicate"
)

// mostBatches bounds the copies that a console knows of: each takes about 100 bytes.
const mostBatches = 200_000

// showCopies gives the console of a fleet the fleet's trails, if there is a key that they
// are read with. The caller calls done at the end.
func showCopies(ctx context.Context, d *adminClient, o *console.Options) (done func(), err error) {
	e := d.settings.Engine
	switch {
	case !d.fleet:
		return func() {}, nil
	case e.AuditorKey == "" && e.Credentials == "": // the servers ask for no key
		o.Copies = replicate.BoundedCopies(ctx, d.conn, mostBatches)
		return func() {}, nil
	case e.AuditorKey == "":
		o.CopiesLack = "No key for that is set. " + console.HowToRead
		return func() {}, nil
	}
	a := e.AuditorOptions(e.AuditorName)
	a.Log = slog.New(slog.DiscardHandler)
	conn, err := natsx.Connect(ctx, a) // the console does not wait for it: pages say how it stands
	if err != nil {
		return nil, exit.Errorf(exit.Config, "cannot read the copies of the fleet's trails: %w", err)
	}
	o.Copies = replicate.BoundedCopies(ctx, conn, mostBatches)
	return conn.Close, nil
}
