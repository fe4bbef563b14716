package query

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/command/cmdline"
)

// column is one column of the CSV form. The names are stable; new columns are
// appended at the end.
type column struct {
	name string
	cell func(l *Line) string
}

// columns are documented in docs/audit.md.
func columns() []column {
	text := func(name string, get func(r *audit.Record) string) column {
		return column{name, func(l *Line) string { return safeCell(get(&l.Record)) }}
	}
	result := func(name string, get func(r *audit.Result) string) column {
		return column{name, func(l *Line) string {
			if l.Record.Result == nil {
				return ""
			}
			return get(l.Record.Result)
		}}
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return append([]column{
		{"time", func(l *Line) string { return l.Record.Time.UTC().Format(time.RFC3339Nano) }},
		{"trail", func(l *Line) string { return safeCell(l.Trail.Name()) }},
		{"seq", func(l *Line) string { return strconv.FormatUint(l.Record.Seq, 10) }},
		text("event", func(r *audit.Record) string { return string(r.Event) }),
		text("name", func(r *audit.Record) string { return string(r.Name) }),
		text("code", func(r *audit.Record) string { return string(r.Code) }),
		text("front", func(r *audit.Record) string { return r.Who.Front }),
		text("principal", func(r *audit.Record) string { return r.Who.Principal }),
		text("client", func(r *audit.Record) string { return r.Who.Client }),
		text("agent", func(r *audit.Record) string { return r.Who.Agent }),
		text("task", func(r *audit.Record) string { return r.Who.Task }),
		text("session", func(r *audit.Record) string { return string(r.Who.Session) }),
		text("os_user", func(r *audit.Record) string { return r.Who.OSUser }),
		text("command_id", func(r *audit.Record) string { return string(r.Trace.CommandID) }),
		text("tool", func(r *audit.Record) string { return string(r.What.Tool) }),
		text("program", program),
		text("command", CommandLine),
		text("argv_sha256", func(r *audit.Record) string { return r.What.ArgvSHA256 }),
		text("file", func(r *audit.Record) string { return r.What.File }),
		text("cwd", func(r *audit.Record) string { return r.What.Cwd }),
		text("action", func(r *audit.Record) string { return r.Decision.Action }),
		text("rule", func(r *audit.Record) string { return r.Decision.Rule }),
		text("at", func(r *audit.Record) string { return r.Decision.At }),
		text("policy_sha256", func(r *audit.Record) string { return r.Decision.PolicySHA256 }),
		text("tier", func(r *audit.Record) string { return r.Sandbox.Tier }),
		text("profile", func(r *audit.Record) string { return r.Sandbox.Profile }),
		text("network", func(r *audit.Record) string { return r.Sandbox.Network }),
		result("cause", func(r *audit.Result) string { return safeCell(r.Cause) }),
		result("exit_code", func(r *audit.Result) string { return strconv.Itoa(r.ExitCode) }),
		result("signal", func(r *audit.Result) string { return safeCell(r.Signal) }),
		result("duration_ms", func(r *audit.Result) string { return number(r.DurationMS) }),
		result("stdout_bytes", func(r *audit.Result) string { return number(r.StdoutBytes) }),
		result("stderr_bytes", func(r *audit.Result) string { return number(r.StderrBytes) }),
		result("truncated", func(r *audit.Result) string { return strconv.FormatBool(r.Truncated) }),
		result("recording", func(r *audit.Result) string { return safeCell(r.Recording) }),
		result("recording_sha256", func(r *audit.Result) string { return safeCell(r.RecordingSHA256) }),
		text("why", func(r *audit.Record) string { return r.Why }),
		text("error", func(r *audit.Record) string { return r.Error }),
		text("hash", func(r *audit.Record) string { return r.Hash }),
		text("call", func(r *audit.Record) string { return r.Who.Call }),
	}, approvalColumns()...)
}

// approvalColumns, and the columns of credentials and persons, were added later and so
// are at the end.
func approvalColumns() []column {
	said := func(name string, get func(a *audit.Approval) string) column {
		return column{name, func(l *Line) string {
			if l.Record.Decision.Approval == nil {
				return ""
			}
			return safeCell(get(l.Record.Decision.Approval))
		}}
	}
	return []column{
		said("approval", func(a *audit.Approval) string { return a.Handle }),
		said("approval_outcome", func(a *audit.Approval) string { return a.Outcome }),
		said("approval_choice", func(a *audit.Approval) string { return a.Choice }),
		said("approval_by", func(a *audit.Approval) string { return a.By }),
		said("approval_how", func(a *audit.Approval) string { return a.How }),
		said("approval_comment", func(a *audit.Approval) string { return a.Comment }),
		{"credentials", func(l *Line) string { return safeCell(strings.Join(l.Record.Credentials, ", ")) }},
		person("person", func(p *audit.Person) string { return safeCell(p.Name) }),
		person("person_uid", func(p *audit.Person) string { return strconv.Itoa(p.UID) }),
		person("person_how", func(p *audit.Person) string { return safeCell(p.How) }),
		person("person_operator", func(p *audit.Person) string { return safeCell(p.Operator) }),
	}
}

func person(name string, get func(p *audit.Person) string) column {
	return column{name, func(l *Line) string {
		if l.Record.Person == nil {
			return ""
		}
		return get(l.Record.Person)
	}}
}

// safeCell makes text safe for terminals and for spreadsheets, where a cell
// that begins with one of these characters is a formula.
func safeCell(s string) string {
	if s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		s = "'" + s
	}
	return cmdline.Escape(s)
}

// CSV writes records in the format of RFC 4180, after a line with the column
// names.
type CSV struct {
	out     *csv.Writer
	columns []column
	row     []string
	begun   bool
}

// NewCSV returns a CSV that writes to w.
func NewCSV(w io.Writer) *CSV {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	return &CSV{out: out, columns: columns()}
}

// Write writes a row.
func (c *CSV) Write(l *Line) error {
	if err := c.begin(); err != nil {
		return err
	}
	c.row = c.row[:0]
	for _, column := range c.columns {
		c.row = append(c.row, column.cell(l))
	}
	if err := c.out.Write(c.row); err != nil {
		return fmt.Errorf("cannot write a row: %w", err)
	}
	return nil
}

// Close writes buffered rows; without any row, it writes the column names.
func (c *CSV) Close() error {
	if err := c.begin(); err != nil {
		return err
	}
	c.out.Flush()
	return c.out.Error()
}

func (c *CSV) begin() error {
	if c.begun {
		return nil
	}
	c.begun = true
	names := make([]string, len(c.columns))
	for i, column := range c.columns {
		names[i] = column.name
	}
	if err := c.out.Write(names); err != nil {
		return fmt.Errorf("cannot write the names of the columns: %w", err)
	}
	return nil
}
