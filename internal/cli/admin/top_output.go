package admin

import (
	"context"
	"fmt"
	"strings"

	"tipstaff/internal/admin/api"
	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/tty"
)

// topOutput shows what one command prints, as it comes.
type topOutput struct {
	row    topRow
	stop   context.CancelFunc
	kept   []string // the last lines
	open   string
	screen []string // of a terminal; nil: it has none
	lost   int64
	state  string
	failed string
}

// mostLines bounds the lines that are kept of an output: more than a screen is never
// shown.
const mostLines = 500

// newTopOutput begins to follow a command.
func newTopOutput(ctx context.Context, p *topPage, r topRow) *topOutput {
	ctx, stop := context.WithCancel(ctx)
	o := &topOutput{row: r, stop: stop, state: r.command.State}
	p.beside(ctx, func() func() {
		err := p.client.Follow(ctx, r.id, func(e api.Event) error {
			select {
			case p.done <- func() { o.take(e) }:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		return func() {
			if err != nil {
				o.failed = escapeLines(err)
			}
		}
	})
	return o
}

// take adds what has come.
func (o *topOutput) take(e api.Event) {
	o.lost += e.Lost
	if e.Command != nil {
		o.row.command, o.state = e.Command, e.Command.State
	}
	switch e.Kind {
	case api.KindScreen:
		o.screen = append([]string{}, e.Screen...)
	case api.KindOutput:
		for line := range strings.Lines(e.Text) {
			o.kept = append(o.kept, printable(strings.TrimSuffix(line, "\n")))
		}
		if n := len(o.kept) - mostLines; n > 0 {
			o.kept = append([]string{}, o.kept[n:]...)
		}
		o.open = e.Open
	case api.KindEnd:
		o.state = fmt.Sprintf("%s, code %d", e.Command.State, e.Command.ExitCode)
		if e.Command.Why != "" {
			o.state += ", " + cmdline.Escape(e.Command.Why)
		}
	}
}

// printable is a line of output for a terminal: tabs are blanks.
func printable(line string) string { return cmdline.Escape(strings.ReplaceAll(line, "\t", "        ")) }

// lines shows the last lines that fit.
func (o *topOutput) lines(v *topView, height int) []string {
	head := []string{
		v.paint(tty.Bold, v.cut(nameOf(o.row.who)+": "+cmdline.Escape(o.row.command.Line))),
		v.cut(cmdline.Escape(o.row.id) + ", " + o.state),
	}
	switch {
	case o.failed != "":
		head = append(head, v.paint(tty.Yellow, v.cut(cmdline.Escape(o.failed))))
	case o.lost > 0:
		head = append(head, v.paint(tty.Yellow, v.cut(shortBytes(o.lost)+" before that are not shown")))
	}
	body := o.kept
	if o.screen != nil {
		body = o.screen
	} else if o.open != "" {
		body = append(body[:len(body):len(body)], printable(o.open))
	}
	body = body[max(0, len(body)-max(0, height-len(head)-1)):]
	out := append(head, "")
	for _, line := range body {
		out = append(out, v.cut(line))
	}
	return out
}
