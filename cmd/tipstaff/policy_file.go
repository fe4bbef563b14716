package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"tipstaff/internal/argv"
	"tipstaff/internal/host"
	"tipstaff/internal/policy"
	"tipstaff/internal/programs"
	"tipstaff/internal/rules"
)

// policyFile is a policy file as it was read.
type policyFile struct {
	*rules.Policy // nil if it could not be used

	path    string
	sources []string // the file and everything that it extends, as far as it was read
	state   string   // of the sources, before they were read
	fresh   bool     // they had changed just then: the next change could leave the same state
}

// readings is how often a file is read that changes meanwhile.
const readings = 3

// readPolicy reads a policy file with all that it extends, without its tests.
// What it gives says also of a file that cannot be used what was read of it.
// Files that change while they are read do not belong together.
func readPolicy(path string) (f policyFile, err error) {
	for range readings {
		f, err = readPolicyOnce(path)
		if state, _ := host.StateOf(f.sources); state == f.state {
			return f, err
		}
	}
	f.Policy = nil
	return f, fmt.Errorf("cannot use the policy file %s: it changes while it is read", path)
}

func readPolicyOnce(path string) (policyFile, error) {
	f := policyFile{path: path, sources: []string{path}}
	f.state, f.fresh = host.StateOf(f.sources)
	data, err := host.ReadTrusted(path)
	if err != nil {
		return f, fmt.Errorf("cannot use the policy file %s: %w", path, err)
	}
	f.Policy, err = rules.Load(data, path, rules.Options{
		Split: argv.Split,
		Names: policy.ReadNames,
		Now:   time.Now(),
		Extend: func(other string) ([]byte, error) {
			if !filepath.IsAbs(other) {
				other = filepath.Join(filepath.Dir(path), other)
			}
			if !slices.Contains(f.sources, other) {
				f.sources = append(f.sources, other)
				f.state, f.fresh = host.StateOf(f.sources)
			}
			return host.ReadTrusted(other)
		},
	})
	if err != nil {
		return f, fmt.Errorf("cannot use the policy file %s:\n%w", path, err)
	}
	return f, nil
}

// loadPolicy is readPolicy with the file's own tests: what it gives without an
// error may decide. It gives an empty policyFile when no file is named.
func loadPolicy(path string) (policyFile, error) {
	if path == "" {
		return policyFile{}, nil
	}
	f, err := readPolicy(path)
	if err != nil {
		return f, err
	}
	if failed := policy.CheckFile(f.Policy); len(failed) > 0 {
		errs := []error{fmt.Errorf("%d of its tests fail", len(failed))}
		for _, t := range failed {
			errs = append(errs, t)
		}
		f.Policy = nil
		return f, fmt.Errorf("cannot use the policy file %s: %w", path, errors.Join(errs...))
	}
	return f, nil
}

// lintPolicy names what is doubtful in a file, and what of it nothing carries out.
func lintPolicy(file *rules.Policy) []rules.Fault {
	return file.Lint(rules.LintOptions{Runs: programs.Interpreter, Now: time.Now()})
}

// warnOfPolicy tells the operator what is doubtful in the file.
func warnOfPolicy(file *rules.Policy, log *slog.Logger) {
	if file == nil {
		return
	}
	for _, f := range lintPolicy(file) {
		log.Warn("doubtful in the policy file", "at", f.Pos.String(), "what", f.Msg, "hint", f.Hint)
	}
}
