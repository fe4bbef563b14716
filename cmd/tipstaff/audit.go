package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
	"tipstaff/internal/config"
)

func newAudit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Ask the audit trail",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuditVerify())
	return cmd
}

func newAuditVerify() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [PATH]",
		Short: "Check that no record was altered, removed, added or moved",
		Long: `Check the chain of a trail: every record carries the hash of the one before.
PATH is a trail, one of its files, or a directory of trails; without it, every
trail of this user's state directory is checked.

The exit code is 0 when all is well, 6 when a trail was tampered with (the first
bad record is named), and 7 when a crash tore its last line. What the chain
alone cannot show is in SECURITY.md.`,
		Example: `  tipstaff audit verify
  tipstaff audit verify ~/.local/state/tipstaff/audit/20260101T120000Z-4711-c0ffee`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := trailPath(args)
			if err != nil {
				return err
			}
			report, err := audit.Verify(path)
			if errors.Is(err, fs.ErrNotExist) && len(args) == 0 {
				say(cmd.ErrOrStderr(), "There is no trail yet: %s does not exist.", path)
				return nil
			}
			if err != nil {
				return fail(exitFailure, "%w", err)
			}
			if asJSON {
				enc := json.NewEncoder(cmd.OutOrStdout())
				for _, t := range report.Trails {
					if err := enc.Encode(verdictOf(t)); err != nil {
						return fail(exitFailure, "cannot print: %w", err)
					}
				}
			} else {
				for _, t := range report.Trails {
					say(cmd.OutOrStdout(), "%s", reportLine(t))
				}
				if len(report.Trails) == 0 {
					say(cmd.ErrOrStderr(), "There is no trail in %s.", path)
				}
			}
			return verdictCode(report.Status())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a trail")
	return cmd
}

func trailPath(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	settings, err := config.FromEnvironment(os.Environ())
	if err != nil {
		return "", fail(exitConfig, "cannot tell where the trails are:\n%w", err)
	}
	return settings.AuditDir(), nil
}

func verdictCode(s audit.Status) error {
	switch s {
	case audit.OK:
		return nil
	case audit.Incomplete:
		return &exitError{code: exitIncomplete}
	default:
		return &exitError{code: exitTampered}
	}
}

// reportLine tells a person about one trail.
func reportLine(t audit.TrailReport) string {
	if t.Status == audit.OK {
		return fmt.Sprintf("ok          %s  %d records, %s to %s", t.Path, t.Records, t.First.Format(time.RFC3339), t.Last.Format(time.RFC3339))
	}
	return fmt.Sprintf("%-10s  %s  %d sound records, then %s", t.Status, t.Path, t.Records, t.Fault)
}

// verdict is what --json says of one trail.
type verdict struct {
	Path    string       `json:"path"`
	Status  audit.Status `json:"status"`
	Records uint64       `json:"records"`
	Fault   *fault       `json:"fault,omitempty"`
}

type fault struct {
	Seq    uint64       `json:"seq"`
	File   string       `json:"file"`
	Line   int          `json:"line"`
	Offset int64        `json:"offset"`
	Reason audit.Reason `json:"reason"`
}

func verdictOf(t audit.TrailReport) verdict {
	v := verdict{Path: t.Path, Status: t.Status, Records: t.Records}
	if f := t.Fault; f != nil {
		v.Fault = &fault{Seq: f.Seq, File: f.File, Line: f.Line, Offset: f.Offset, Reason: f.Reason}
	}
	return v
}
