package main

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

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
			p, err := audit.Prove(args[0], seq)
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

func newAuditCheckpoint() *cobra.Command {
	return &cobra.Command{
		Use:   "checkpoint [PATH]",
		Short: "Print the newest checkpoint of every trail, to keep elsewhere",
		Long: `Print the newest signed checkpoint of a trail, or of every trail in a directory.
Kept on another machine, it makes "tipstaff audit verify --since-checkpoint FILE"
notice a trail that was rolled back, or is gone.`,
		Example: `  tipstaff audit checkpoint | ssh elsewhere 'cat >> tipstaff-checkpoints.txt'`,
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := trailPath(args)
			if err != nil {
				return err
			}
			trails, err := audit.Trails(path)
			if err != nil {
				return fail(exitFailure, "%w", err)
			}
			if len(trails) == 0 {
				say(cmd.ErrOrStderr(), "There is no trail in %s.", path)
			}
			for _, trail := range trails {
				note, err := audit.LastCheckpoint(trail)
				if err != nil {
					return fail(exitFailure, "%w", err)
				}
				if _, err := cmd.OutOrStdout().Write(append(slices.Clip(note), '\n')); err != nil {
					return fail(exitFailure, "cannot print: %w", err)
				}
			}
			return nil
		},
	}
}

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

// keepCheckpoints gives what copies checkpoints to another place: a file in dir
// for each trail. A copy that fails is logged, and stops nothing.
func keepCheckpoints(dir string, log *slog.Logger) func(trail string, note []byte) {
	if dir == "" {
		return nil
	}
	return func(trail string, note []byte) {
		f, err := os.OpenFile(filepath.Join(dir, trail+".txt"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err == nil {
			_, err = f.Write(append(slices.Clip(note), '\n'))
			if closed := f.Close(); err == nil {
				err = closed
			}
		}
		if err != nil {
			log.Error("cannot copy a checkpoint of the audit trail", "dir", dir, "error", err)
		}
	}
}
