package main

import (
	"os"

	"github.com/spf13/cobra"

	"tipstaff/internal/server/config"
)

func newAudit() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Ask the audit trail",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAuditVerify(), newAuditProve(), newAuditCheckpoint(), newAuditKey(), newAuditReplay())
	cmd.AddCommand(newAuditShow(), newAuditSearch(), newAuditStats(), newAuditExport())
	cmd.AddCommand(newAuditArchive(), newAuditPrune())
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
