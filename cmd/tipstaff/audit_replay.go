package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
	"tipstaff/internal/config"
	"tipstaff/internal/recording"
	"tipstaff/internal/redact"
	"tipstaff/internal/trailread"
)

// newRecorder gives what keeps what commands print; nil unless the operator wants it.
func newRecorder(s config.Settings, trail *audit.Trail, secrets *redact.Redactor) *recording.Recorder {
	if !s.Recordings {
		return nil
	}
	return &recording.Recorder{
		Dir:      filepath.Join(trail.Path(), recording.Directory),
		Redactor: secrets, MaxBytes: s.RecordingBytes,
	}
}

func newAuditReplay() *cobra.Command {
	var (
		speed float64
		idle  time.Duration
		raw   bool
	)
	cmd := &cobra.Command{
		Use:   "replay COMMAND_ID [PATH]",
		Short: "Play what a command printed, as it came",
		Long: `Play the recording of a command on the terminal. The server keeps recordings with
TIPSTAFF_RECORDINGS=true; COMMAND_ID is trace.command_id of its records, PATH a
trail or a directory of trails.

The file must be the one that the trail speaks of, else nothing is played and the
exit code is 6. Escape sequences other than colours are shown and not obeyed; --raw
lets them through. asciinema plays the same files.`,
		Example: `  tipstaff audit replay cmd_NLILXIS4LXHHNF6QX2HO4XNMSI --idle 1s`,
		Args:    cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if speed <= 0 {
				return fail(exitUsage, "--speed must be above 0")
			}
			path, err := trailPath(args[1:])
			if err != nil {
				return err
			}
			file, err := recordingOf(cmd.Context(), path, args[0])
			if err != nil {
				return err
			}
			p := recording.Player{Out: cmd.OutOrStdout(), Speed: speed, Idle: idle, Raw: raw}
			if err := p.Play(cmd.Context(), file); err != nil {
				return fail(exitFailure, "%w", err)
			}
			return nil
		},
	}
	cmd.Flags().Float64Var(&speed, "speed", 1, "how many times as fast")
	cmd.Flags().DurationVar(&idle, "idle", 2*time.Second, "the longest pause; 0 is as it was")
	cmd.Flags().BoolVar(&raw, "raw", false, "let every escape sequence through to the terminal")
	return cmd
}

// recordingOf finds the recording of a command and holds it to its record.
func recordingOf(ctx context.Context, path, command string) (string, error) {
	trails, err := trailread.Find(path)
	if err != nil {
		return "", fail(exitFailure, "%w", err)
	}
	for _, trail := range trails {
		file := recording.File(trail.Path, command)
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fail(exitFailure, "cannot read the recording: %w", err)
		}
		want, err := recordedSum(ctx, trail, command)
		if err != nil {
			return "", fail(exitFailure, "cannot read the trail: %w", err)
		}
		if got := recording.Sum(data); got != want {
			return "", fail(exitTampered, "%s is not the recording that the trail speaks of: its SHA-256 is %s, recorded is %q", file, got, want)
		}
		return file, nil
	}
	return "", fail(exitFailure, "there is no recording of %s in %s; servers keep them with TIPSTAFF_RECORDINGS=true", command, path)
}

// recordedSum looks in a trail for the hash of a command's recording; "" if no
// record has one.
func recordedSum(ctx context.Context, trail trailread.Trail, command string) (sum string, err error) {
	want := trailread.Filter{Command: command, Event: trailread.Word{Text: string(audit.CommandEnd)}}
	_, err = trailread.Read(ctx, []trailread.Trail{trail}, &want, func(l *trailread.Line) error {
		if l.Record.Result != nil {
			sum = l.Record.Result.RecordingSHA256
		}
		return nil
	})
	return sum, err
}
