package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
	"tipstaff/internal/audit/query"
	"tipstaff/internal/command/cmdline"
)

func newAuditStats() *cobra.Command {
	var o struct {
		filter          filterFlags
		engine          engineFlag
		asJSON, noColor bool
	}
	cmd := &cobra.Command{
		Use:   "stats [PATH]",
		Short: "Count records",
		Long: `Count records by event, decision, rule, code, program and agent, and say how long
commands took. A command is counted once, when it was asked. Lines that are no
records are counted apart.

` + trailsHelp,
		Example: `  tipstaff audit stats
  tipstaff audit stats --since 24h --agent reviewer
  tipstaff audit stats --json | jq .programs`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.filter.filter(cmd, time.Now())
			if err != nil {
				return err
			}
			r, err := openTrails(cmd, args, o.engine, f, o.noColor)
			if err != nil {
				return err
			}
			return countRecords(r, o.asJSON)
		},
	}
	o.filter.add(cmd)
	o.engine.add(cmd)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&o.noColor, "no-color", false, "no colours")
	return cmd
}

func countRecords(r *trailReader, asJSON bool) error {
	var s query.Stats
	tally, err := query.Read(r.cmd.Context(), r.trails, r.filter, func(l *query.Line) error {
		s.Add(l)
		return nil
	})
	s.Finish(tally)
	switch {
	case err != nil:
	case asJSON:
		err = r.printJSON(&s)
	case len(r.trails) > 0:
		if s.Records == 0 {
			sayNothingFound(r.cmd.ErrOrStderr(), r.filter)
		}
		printStats(r.out, r.screen, &s)
	}
	return r.end(err, tally.Faults)
}

// printJSON writes one object on one line.
func (r *trailReader) printJSON(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = r.out.Write(append(audit.AppendPrintable(nil, text), '\n'))
	return err
}

// mostCounts is how many names of each kind are printed for a person.
const mostCounts = 10

func printStats(w io.Writer, screen screen, s *query.Stats) {
	fact := func(name, format string, args ...any) {
		say(w, "%s %s", screen.paint(bold, fit(name, 10)), screen.rest(fmt.Sprintf(format, args...), 11))
	}
	fact("trails", "%d", s.Trails)
	fact("records", "%d, %s", s.Records, bytesText(s.Bytes))
	if s.First != nil {
		fact("time", "%s to %s", s.First.UTC().Format(time.RFC3339), s.Last.UTC().Format(time.RFC3339))
	}
	if s.TornLines+s.BadLines > 0 {
		fact("no records", "%s, %s", plural(s.TornLines, "torn line", "torn lines"), plural(s.BadLines, "bad line", "bad lines"))
	}
	fact("commands", "%d asked, %d ended with another exit code than 0", s.Commands, s.Failed)
	if d := s.DurationMS; d.Count > 0 {
		fact("durations", "p50 %v, p90 %v, p99 %v, longest %v, of %d that ended", ms(d.P50), ms(d.P90), ms(d.P99), ms(d.Max), d.Count)
		fact("output", "%s on standard output, %s on standard error", bytesText(s.StdoutBytes), bytesText(s.StderrBytes))
	}
	for _, list := range []struct {
		title  string
		counts query.Counts
		empty  string
	}{
		{"EVENTS", s.Events, ""}, {"DECISIONS", s.Decisions, ""}, {"RULES", s.Rules, ""}, {"CODES", s.Codes, ""},
		{"ENDS", s.Causes, ""}, {"PROGRAMS", s.Programs, ""}, {"AGENTS", s.Agents, "(none named)"},
	} {
		printCounts(w, screen, list.title, list.counts, list.empty)
	}
}

// printCounts lists the most frequent names.
func printCounts(w io.Writer, screen screen, title string, counts query.Counts, empty string) {
	if len(counts) == 0 {
		return
	}
	say(w, "\n%s", screen.paint(bold, title))
	sorted := counts.Sorted()
	for _, c := range sorted[:min(mostCounts, len(sorted))] {
		name := cmdline.Escape(c.Name)
		if name == "" {
			name = empty
		}
		say(w, "%10d  %s", c.N, screen.rest(name, 12))
	}
	if more := len(sorted) - mostCounts; more > 0 {
		say(w, "%10s  and %s; --json lists all", "", plural(int64(more), "more", "more"))
	}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// bytesText formats a size for people.
func bytesText(n int64) string {
	size, units := float64(n), []string{"bytes", "kB", "MB", "GB", "TB"}
	for size >= 1000 && len(units) > 1 {
		size, units = size/1000, units[1:]
	}
	if units[0] == "bytes" {
		return plural(n, "byte", "bytes")
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", size), ".0") + " " + units[0]
}
