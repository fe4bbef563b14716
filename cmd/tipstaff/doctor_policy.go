package main

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"tipstaff"
	"tipstaff/internal/argv"
	"tipstaff/internal/audit"
	"tipstaff/internal/config"
	"tipstaff/internal/trailread"
)

// policyStatus is what doctor says of the policy.
type policyStatus struct {
	File     string       `json:"file,omitempty"` // "" without one: the allowlists alone decide
	From     string       `json:"from,omitempty"` // who has named it
	SHA256   string       `json:"sha256,omitempty"`
	Programs int          `json:"programs"` // that may run, as they are named
	Rules    int          `json:"rules,omitempty"`
	Presets  []string     `json:"presets,omitempty"`
	Tests    int          `json:"tests,omitempty"`
	Doubts   []checkFault `json:"doubts,omitempty"`
	Missing  []string     `json:"missing,omitempty"` // named, and not found on the server's PATH
	Roots    []string     `json:"roots,omitempty"`
	// RootsError says why no call that names a directory can be judged.
	RootsError string `json:"roots_error,omitempty"`
	// Servers are those that run with this state directory and a policy file.
	Servers []servedPolicy `json:"servers,omitempty"`
	// Error says why no server would start with this file.
	Error string `json:"error,omitempty"`
}

// servedPolicy is the policy of a running server, as its record tells.
type servedPolicy struct {
	PID    int       `json:"pid"`
	File   string    `json:"file"`
	SHA256 string    `json:"sha256"` // of the file that decides
	Since  time.Time `json:"since"`  // it was read last
	// Refused says why the file that is there now does not decide.
	Refused string `json:"refused,omitempty"`
}

// examinePolicy looks at the policy as a server would that starts now.
func examinePolicy(ctx context.Context, j *judge) policyStatus {
	p := policyStatus{File: j.settings.ConfigFile, From: j.settings.ConfigFrom, Servers: servedPolicies(ctx, j.settings)}
	var err error
	if j.file, err = loadPolicy(p.File); err != nil {
		p.Error = err.Error()
		return p
	}
	roots, err := j.host.Roots()
	if p.Roots = roots; err != nil {
		p.RootsError = err.Error()
	}
	names := j.host.Allowlist(tipstaff.Execute).Names
	if f := j.file.Policy; f != nil {
		names = f.Names()
		p.SHA256, p.Rules, p.Tests = f.Digest, f.Rules(), len(f.File.Tests)
		p.Doubts = checkFaults(lintPolicy(f))
		for _, e := range f.File.Extends {
			p.Presets = append(p.Presets, e.Value)
		}
		for _, r := range f.File.Roots {
			p.Roots = append(p.Roots, r.Value)
			if _, err := j.host.Canonical(r.Value, nil); err != nil {
				p.RootsError = r.At.String() + ": " + err.Error()
			} else if info, err := os.Stat(r.Value); err != nil || !info.IsDir() {
				p.RootsError = r.At.String() + ": there is no directory " + r.Value
			}
		}
	}
	p.Programs = len(names)
	for _, name := range names {
		if _, err := j.host.Lookup(name); err != nil && !strings.Contains(name, "/") {
			p.Missing = append(p.Missing, name)
		}
	}
	return p
}

// servedPolicies reads what running servers have recorded of their policy files.
func servedPolicies(ctx context.Context, s config.Settings) []servedPolicy {
	trails, err := trailread.Find(s.AuditDir())
	if err != nil {
		return nil // doctor says of the record what there is to say
	}
	var out []servedPolicy
	for i := range trails {
		if !alive(trails[i].PID()) {
			continue
		}
		if p, ok := servedPolicyOf(ctx, &trails[i]); ok {
			out = append(out, p)
		}
	}
	return out
}

func servedPolicyOf(ctx context.Context, t *trailread.Trail) (servedPolicy, bool) {
	p := servedPolicy{PID: t.PID()}
	last := func(e audit.Event) []trailread.Line {
		lines, _, err := trailread.Last(ctx, []trailread.Trail{*t}, &trailread.Filter{Event: trailread.Word{Text: string(e)}}, reloadsLookedAt)
		if err != nil {
			return nil
		}
		return lines
	}
	if len(last(audit.ServerStop)) > 0 {
		return p, false
	}
	known := append(last(audit.ServerStart), last(audit.PolicyReload)...)
	for i, l := range slices.Backward(known) {
		r := &l.Record
		if r.Policy == nil {
			continue
		}
		if r.Policy.Outcome == audit.PolicyRefused {
			if i == len(known)-1 {
				p.Refused, p.File, p.SHA256 = r.Error, r.Policy.File, r.Policy.OldSHA256
			}
			continue
		}
		p.File, p.SHA256, p.Since = r.Policy.File, r.Policy.SHA256, r.Time
		break
	}
	return p, p.File != ""
}

// reloadsLookedAt bounds how far back a good reload is looked for.
const reloadsLookedAt = 100

// alive reports whether a process runs.
func alive(pid int) bool {
	if pid <= 0 || pid == os.Getpid() {
		return false
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	err = process.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission)
}

func (p *policyStatus) print(w io.Writer) {
	switch {
	case p.Error != "":
		say(w, "✘ policy: %s", strings.ReplaceAll(printable(p.Error), "\n", "\n  "))
		say(w, "  no server starts with it, and running ones go on with what they have; mend it, then: %s", argv.Display([]string{"tipstaff", "policy", "check", p.File}))
	case p.File == "" && p.Programs == 0:
		say(w, "! policy: there is no policy file, and ALLOWED_COMMANDS names no program: execute_* may run nothing")
		say(w, "  set ALLOWED_COMMANDS, or write a policy file and name it with TIPSTAFF_CONFIG")
	case p.File == "":
		say(w, "✔ policy: no file; the allowlists alone decide, ALLOWED_COMMANDS names %s", plural(int64(p.Programs), "program", "programs"))
	default:
		say(w, "✔ policy: %s (%s), SHA-256 %s", argv.Escape(p.File), p.From, p.SHA256)
		line := plural(int64(p.Programs), "program", "programs") + ", " + plural(int64(p.Rules), "rule", "rules") + ", " + plural(int64(p.Tests), "test", "tests")
		if len(p.Presets) > 0 {
			line += ", extends " + argv.Escape(strings.Join(p.Presets, ", "))
		}
		say(w, "  %s", line)
	}
	for _, d := range p.Doubts {
		say(w, "! policy: %s:%d: %s; %s", argv.Escape(d.File), d.Line, argv.Escape(d.Message), argv.Escape(d.Hint))
	}
	if len(p.Missing) > 0 {
		say(w, "! programs: not found where the server looks: %s", argv.Escape(strings.Join(p.Missing, ", ")))
		say(w, "  install them, or take them out of the policy")
	} else if p.Programs > 0 {
		say(w, "✔ programs: all %d are found", p.Programs)
	}
	p.printRoots(w)
	for _, s := range p.Servers {
		s.print(w, p)
	}
}

func (p *policyStatus) printRoots(w io.Writer) {
	switch {
	case p.RootsError != "":
		say(w, "✘ roots: %s", argv.Escape(p.RootsError))
		say(w, "  calls are refused until it is there: mkdir -p, or take it out of ALLOWED_CWD_ROOTS or the policy")
	case len(p.Roots) > 0:
		say(w, "✔ roots: %s", argv.Escape(strings.Join(p.Roots, ", ")))
	}
}

func (s *servedPolicy) print(w io.Writer, now *policyStatus) {
	switch {
	case s.Refused != "":
		say(w, "✘ server %d: an older policy goes on deciding, because the file cannot be used: %s", s.PID, strings.ReplaceAll(printable(s.Refused), "\n", "\n  "))
		say(w, "  mend it, then it is read within a second (at SIGHUP if it is among the own files that are named here): %s", argv.Display([]string{"tipstaff", "policy", "check", s.File}))
	case s.File == now.File && s.SHA256 != now.SHA256 && now.Error == "":
		say(w, "! server %d: decides by an older state of %s (%.12s…)", s.PID, argv.Escape(s.File), s.SHA256)
	default:
		say(w, "✔ server %d: decides by %s since %s (%.12s…)", s.PID, argv.Escape(s.File), s.Since.UTC().Format(time.RFC3339), s.SHA256)
	}
}
