package main

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
	"tipstaff/internal/command/cmdline"
)

// followInterval is how often --follow looks for new records.
const followInterval = 300 * time.Millisecond

func newAuditShow() *cobra.Command {
	var o struct {
		filter                  filterFlags
		engine                  engineFlag
		n                       int
		seq                     uint64
		follow, asJSON, noColor bool
	}
	cmd := &cobra.Command{
		Use:   "show [PATH]",
		Short: "Show the latest records",
		Long: `Show the latest records, the newest last; with --follow also those that come.
With --seq, show one record of one trail in full.

` + trailsHelp,
		Example: `  tipstaff audit show
  tipstaff audit show --follow --denied
  tipstaff audit show --seq 7 ~/.local/state/tipstaff/audit/20260101T120000Z-4711-c0ffee12`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.filter.filter(cmd, time.Now())
			if err != nil {
				return err
			}
			if o.n < 1 {
				return fail(exitUsage, "-n must be at least 1, it is %d", o.n)
			}
			if cmd.Flags().Changed("seq") && o.seq == 0 {
				return fail(exitUsage, "--seq counts from 1")
			}
			r, err := openTrails(cmd, args, o.engine, f, o.noColor)
			if err != nil {
				return err
			}
			if o.seq > 0 {
				return showOne(r, o.seq, o.asJSON)
			}
			return showLast(r, o.n, o.follow, recordPrinter(r, o.asJSON))
		},
	}
	o.filter.add(cmd)
	o.engine.add(cmd)
	cmd.Flags().IntVarP(&o.n, "lines", "n", 20, "how `many`")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on with the records that come")
	cmd.Flags().Uint64Var(&o.seq, "seq", 0, "show the record with this `number` in full")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print the records as they are, one a line")
	cmd.Flags().BoolVar(&o.noColor, "no-color", false, "no colours")
	cmd.MarkFlagsMutuallyExclusive("seq", "follow")
	cmd.MarkFlagsMutuallyExclusive("seq", "lines")
	return cmd
}

// recordPrinter returns a function that prints records for a person, or raw.
func recordPrinter(r *trailReader, raw bool) func(l *query.Line) error {
	if raw {
		return r.printRaw
	}
	return newTable(r).print
}

func showLast(r *trailReader, n int, follow bool, print func(*query.Line) error) error {
	if len(r.trails) == 0 && !follow {
		return nil
	}
	found, tally, err := query.Last(r.cmd.Context(), r.trails, r.filter, n)
	for i := range found {
		if err == nil {
			err = print(&found[i])
		}
	}
	if err == nil && follow {
		err = followRecords(r, print)
	}
	if err == nil && len(found) == 0 && len(r.trails) > 0 {
		sayNothingFound(r.cmd.ErrOrStderr(), r.filter)
	}
	return r.end(err, tally.Faults)
}

// followRecords prints new records until the command is interrupted.
func followRecords(r *trailReader, print func(*query.Line) error) error {
	w, err := query.Follow(r.from.files, r.path, r.trails, r.filter)
	if err != nil {
		return err
	}
	ctx := r.cmd.Context()
	for tick := time.NewTicker(followInterval); ; {
		if err := r.out.Flush(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return context.Cause(ctx)
		case <-tick.C:
		}
		if !r.refresh() {
			continue
		}
		faults, err := w.Poll(ctx, print)
		if err != nil {
			return err
		}
		r.sayFaults(faults)
	}
}

// showOne prints one record of one trail in full.
func showOne(r *trailReader, seq uint64, raw bool) error {
	switch len(r.trails) {
	case 0:
		return nil
	case 1:
	default:
		latest := r.trails[len(r.trails)-1].Path
		return fail(exitUsage, "there are %d trails in %s, and each counts from 1: name one of them. The latest: %s",
			len(r.trails), cmdline.Escape(r.path), cmdline.Escape(latest))
	}
	r.filter.Seq = seq
	print := r.printRaw
	if !raw {
		print = func(l *query.Line) error { return printIndented(r, l) }
	}
	found := false
	tally, err := query.Read(r.cmd.Context(), r.trails, r.filter, func(l *query.Line) error {
		found = true
		return print(l)
	})
	if err == nil && !found {
		say(r.cmd.ErrOrStderr(), "There is no such record %d in %s.", seq, cmdline.Escape(r.path))
	}
	return r.end(err, tally.Faults)
}

// printIndented writes every member of a record on a line of its own.
func printIndented(r *trailReader, l *query.Line) error {
	var b bytes.Buffer
	if err := json.Indent(&b, audit.AppendPrintable(nil, l.Raw), "", "  "); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := r.out.Write(b.Bytes())
	return err
}
