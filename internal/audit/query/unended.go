package query

import (
	"context"
	"maps"
	"slices"

	"tipstaff"
	"tipstaff/internal/audit"
)

// Stopped reports whether the last record of a trail is that its server stops.
func Stopped(ctx context.Context, t Trail) (bool, error) {
	last, _, err := Last(ctx, []Trail{t}, &Filter{}, 1)
	return len(last) == 1 && last[0].Record.Event == audit.ServerStop, err
}

// Unended returns the starts of commands in trails of which no record says how they
// ended, the oldest in front. Whether they still run, it does not know.
func Unended(ctx context.Context, trails []Trail) ([]audit.Record, error) {
	open := map[tipstaff.RequestID]audit.Record{}
	_, err := Read(ctx, trails, &Filter{Event: Word{Text: "command.", Prefix: true}}, func(l *Line) error {
		switch id := l.Record.Trace.CommandID; l.Record.Event {
		case audit.CommandStart:
			open[id] = l.Record
		case audit.CommandEnd, audit.CommandError, audit.CommandLost:
			delete(open, id)
		}
		return nil
	})
	return slices.SortedFunc(maps.Values(open), func(a, b audit.Record) int { return a.Time.Compare(b.Time) }), err
}
