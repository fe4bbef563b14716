package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
)

func newAuditProve() *cobra.Command {
	var seq uint64
	cmd := &cobra.Command{
		Use:   "prove TRAIL --seq N",
		Short: "Show that one record stands on a trail, without showing the others",
		Long: `Print a record with a signed checkpoint and the hashes that lead from the one to
the other, as JSON. Whoever has the public key can check it with
"tipstaff audit verify --proof FILE --pub KEY", and needs nothing else of the trail.`,
		Example: `  tipstaff audit prove ~/.local/state/tipstaff/audit/20260101T120000Z-4711-c0ffee00 --seq 12 > proof.json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := audit.Prove(cmd.Context(), args[0], seq)
			if err != nil {
				return fail(exitFailure, "%w", err)
			}
			enc := json.NewEncoder(cmd.OutOrStdout())
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(p); err != nil {
				return fail(exitFailure, "cannot print: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().Uint64Var(&seq, "seq", 0, "the number of the record")
	_ = cmd.MarkFlagRequired("seq")
	return cmd
}
