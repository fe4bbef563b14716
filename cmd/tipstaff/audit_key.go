package main

import (
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
)

func newAuditKey() *cobra.Command {
	var rotate bool
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the public key that signs the trails, or make a new one",
		Long: `Print the public part of the key that signs the trails of this user's state
directory; the first server makes the key. Keep it where this machine cannot
change it, for "tipstaff audit verify --pub".

With --rotate a new key is made; the old and the new one both sign that the one
follows the other, so that who has either can verify all trails. Servers that run
keep their key until they end.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := trailPath(nil)
			if err != nil {
				return err
			}
			key, err := audit.LoadKey(dir)
			if err == nil && rotate {
				key, err = audit.RotateKey(dir, time.Now())
			}
			if err != nil {
				return fail(exitFailure, "%w", err)
			}
			say(cmd.OutOrStdout(), "%s", key.Public)
			return nil
		},
	}
	cmd.Flags().BoolVar(&rotate, "rotate", false, "make a new key, signed by the old one")
	return cmd
}
