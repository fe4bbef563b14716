package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
)

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
				note, err := audit.LastCheckpoint(trail.Path)
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

// keepCheckpoints returns a function that copies checkpoints to another place:
// a file in dir for each trail. A copy that fails is logged, and stops nothing.
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
