package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
)

func newAuditCheckpoint() *cobra.Command {
	var engine engineFlag
	cmd := &cobra.Command{
		Use:   "checkpoint [PATH]",
		Short: "Print the newest checkpoint of every trail, to keep elsewhere",
		Long: `Print the newest signed checkpoint of a trail, or of every trail in a directory.
Kept on another machine, it makes "tipstaff audit verify --since-checkpoint FILE"
notice a trail that was rolled back, or is gone.` + engineHelp,
		Example: `  tipstaff audit checkpoint | ssh elsewhere 'cat >> tipstaff-checkpoints.txt'
  tipstaff audit checkpoint --engine nats://nats.example.com:4222 > kept.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, path, err := engine.trails(cmd, args)
			if err != nil {
				return err
			}
			trails, err := from.files.Trails(path)
			if err != nil {
				return fail(exitFailure, "%w", err)
			}
			if len(trails) == 0 {
				say(cmd.ErrOrStderr(), "There is no trail in %s.", from.called(path))
			}
			for _, trail := range trails {
				note, err := from.files.LastCheckpoint(trail.Path)
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
	engine.add(cmd)
	return cmd
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
