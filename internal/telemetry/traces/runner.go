package traces

import (
	"context"
	"path/filepath"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/run"
)

// Runner returns a runner that runs commands by next, and adds to the span what
// is known once a command has been allowed and has its turn.
func (t *Traces) Runner(next run.Runner) run.Runner {
	if t == nil {
		return next
	}
	return running{next}
}

type running struct{ next run.Runner }

// Run carries out g. The name of the program is that of the file that the
// policy found, not the one that the caller wrote.
func (r running) Run(ctx context.Context, g *policy.Grant, live run.Live) (tipstaff.Result, error) {
	span, told := trace.SpanFromContext(ctx), live.Started
	if !span.IsRecording() {
		return r.next.Run(ctx, g, live)
	}
	span.SetAttributes(attribute.String("tipstaff.command_id", string(g.Request().ID)))
	if path := g.Program().Path; path != "" { // else it is a script
		span.SetAttributes(attribute.String("process.executable.name", filepath.Base(path)))
	}
	live.Started = func() {
		span.AddEvent("started")
		if told != nil {
			told()
		}
	}
	return r.next.Run(ctx, g, live)
}
