package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tipstaff/internal/argv"
	"tipstaff/internal/policy"
	"tipstaff/internal/rules"
)

func newPolicyCheck() *cobra.Command {
	var o struct {
		config         configFlag
		strict, asJSON bool
	}
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a policy file as a server would, and say what is doubtful in it",
		Long: `Check the policy file, or FILE, as a server does before it lets it decide: who can
write it, what stands in it, the examples of its rules, its tests. Then say what is
doubtful: rules that never decide, programs that run others, rules past their day.

The exit code is 3 when a server would refuse it; with --strict also when something
is doubtful.`,
		Example: `  tipstaff policy check
  tipstaff policy check --strict policy/tipstaff.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := policyPath(&o.config, args)
			if err != nil {
				return err
			}
			c := checkPolicy(path)
			if o.asJSON {
				err = writeJSON(cmd.OutOrStdout(), c)
			} else {
				c.print(cmd.OutOrStdout())
			}
			if err == nil && (!c.OK || o.strict && len(c.Doubts) > 0) {
				return &exitError{code: exitConfig}
			}
			return err
		},
	}
	o.config.declare(cmd)
	cmd.Flags().BoolVar(&o.strict, "strict", false, "what is doubtful counts as a fault")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	return cmd
}

// checked is what is wrong with a policy file.
type checked struct {
	File   string       `json:"file"`
	OK     bool         `json:"ok"` // a server would take it
	SHA256 string       `json:"sha256,omitempty"`
	Faults []checkFault `json:"faults"`
	Tests  int          `json:"tests"`
	Failed []failedTest `json:"failed_tests"`
	Doubts []checkFault `json:"doubts"`
	// Exposed are files of tipstaff's own that commands may change; only "config
	// check" looks for them.
	Exposed []exposedFile `json:"exposed,omitempty"`

	shown []rules.Fault // doubts, with their lines
	err   error
}

type checkFault struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

type failedTest struct {
	At   string `json:"at"`
	Run  string `json:"run"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

func checkPolicy(path string) *checked {
	c := &checked{File: path, Faults: []checkFault{}, Failed: []failedTest{}, Doubts: []checkFault{}}
	f, err := readPolicy(path)
	if err != nil {
		c.err = err
		var all rules.Faults
		if !errors.As(err, &all) {
			c.Faults = append(c.Faults, checkFault{Message: err.Error()})
		}
		c.Faults = append(c.Faults, checkFaults(all)...)
		return c
	}
	c.SHA256 = f.Digest
	c.test(f.Policy)
	c.shown = lintPolicy(f.Policy)
	c.Doubts = append(c.Doubts, checkFaults(c.shown)...)
	c.OK = len(c.Failed) == 0
	return c
}

func (c *checked) test(file *rules.Policy) {
	c.Tests = len(file.File.Tests)
	for _, t := range policy.CheckFile(file) {
		c.Failed = append(c.Failed, failedTest{t.At.String(), t.Run, t.Want, t.Got})
	}
}

func checkFaults(list []rules.Fault) []checkFault {
	var out []checkFault
	for _, f := range list {
		out = append(out, checkFault{f.Pos.File, f.Pos.Line, f.Pos.Col, f.Msg, f.Hint})
	}
	return out
}

func (c *checked) print(w io.Writer) {
	if c.err != nil {
		say(w, "✘ %s", printable(c.err.Error()))
		return
	}
	for _, f := range c.shown {
		say(w, "! %s", printable(f.Error()))
	}
	c.printTests(w)
	if c.OK {
		say(w, "✔ %s: a server would take it, SHA-256 %s", argv.Escape(c.File), c.SHA256)
		return
	}
	say(w, "✘ %s: a server would refuse it", argv.Escape(c.File))
}

func (c *checked) printTests(w io.Writer) {
	for _, t := range c.Failed {
		say(w, "✘ %s: %s\n    expected to be %s, and is %s", argv.Escape(t.At), argv.Escape(t.Run), argv.Escape(t.Want), argv.Escape(t.Got))
	}
	if c.Tests > 0 && len(c.Failed) == 0 {
		say(w, "✔ %s passed", plural(int64(c.Tests), "test", "tests"))
	} else if len(c.Failed) > 0 {
		say(w, "✘ %d of %s failed", len(c.Failed), plural(int64(c.Tests), "test", "tests"))
	}
}

// printable shows several lines that hold what others wrote.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = argv.Escape(lines[i])
	}
	return strings.Join(lines, "\n")
}

func newPolicyTest() *cobra.Command {
	var o struct {
		config configFlag
		asJSON bool
	}
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Run the tests that stand in a policy file",
		Long: `Run the tests of the policy file, or of FILE, on no machine at all: every program is
there, and relative paths that do not climb lie inside the roots.

The exit code is 1 when a test fails, 3 when the file cannot be read.`,
		Example: `  tipstaff policy test
  tipstaff policy test --json policy/tipstaff.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := policyPath(&o.config, args)
			if err != nil {
				return err
			}
			f, err := readPolicy(path)
			if err != nil {
				return fail(exitConfig, "%s", printable(err.Error()))
			}
			c := &checked{File: path, SHA256: f.Digest, Faults: []checkFault{}, Failed: []failedTest{}, Doubts: []checkFault{}}
			c.test(f.Policy)
			c.OK = len(c.Failed) == 0
			if o.asJSON {
				err = writeJSON(cmd.OutOrStdout(), c)
			} else {
				if c.Tests == 0 {
					say(cmd.ErrOrStderr(), "There are no tests in %s.", argv.Escape(path))
				}
				c.printTests(cmd.OutOrStdout())
			}
			if err == nil && !c.OK {
				return &exitError{code: exitFailure}
			}
			return err
		},
	}
	o.config.declare(cmd)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print one JSON object")
	return cmd
}
