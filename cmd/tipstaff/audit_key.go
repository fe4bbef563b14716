package main

import (
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
	"tipstaff/internal/redact"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/server/config"
)

func newAuditKey() *cobra.Command {
	var rotate, fresh bool
	var because string
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the public key that signs the trails, or make a new one",
		Long: `Print the public part of the key that signs the trails of this user's state
directory; the first server makes the key. Keep it where this machine cannot
change it, for "tipstaff audit verify --pub".

With --rotate a new key is made; the old and the new one both sign that the one
follows the other, so that who has either can verify all trails. Servers that run
keep their key until they end.

With --new a key is replaced that was lost, or that other users may have read: no
server starts with such a one. The reason is recorded, and signed by the old key if
it can still be read. If it cannot, keep its public part: "tipstaff audit verify
--pub" takes a file with both.`,
		Example: `  tipstaff audit key
  tipstaff audit key --rotate
  tipstaff audit key --new --because "the disk with the key was lost"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := config.FromEnvironment(os.Environ())
			if err != nil {
				return fail(exitConfig, "cannot tell where the trails are:\n%w", err)
			}
			key, err := keyOf(s, rotate, fresh, because)
			if err != nil {
				return fail(exitFailure, "%w", err)
			}
			say(cmd.OutOrStdout(), "%s", key.Public)
			return nil
		},
	}
	cmd.Flags().BoolVar(&rotate, "rotate", false, "make a new key, signed by the old one")
	cmd.Flags().BoolVar(&fresh, "new", false, "replace a key that is lost, or that others may have read")
	cmd.Flags().StringVar(&because, "because", "", "the `reason`, with --new")
	cmd.MarkFlagsMutuallyExclusive("rotate", "new")
	cmd.MarkFlagsRequiredTogether("new", "because")
	return cmd
}

func keyOf(s config.Settings, rotate, fresh bool, because string) (*audit.Key, error) {
	if fresh {
		return replaceKey(s, because)
	}
	key, err := audit.LoadKey(s.AuditDir())
	if err == nil && rotate {
		key, err = audit.RotateKey(s.AuditDir(), time.Now())
	}
	return key, err
}

// replaceKey replaces the key, and records that in a trail of its own.
func replaceKey(s config.Settings, because string) (key *audit.Key, err error) {
	secrets := redact.New(redact.Secrets(s.Environ))
	if key, err = audit.NewKey(s.AuditDir(), secrets.Text(because), time.Now()); err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	observers, err := newObservers(s, log)
	if err != nil {
		return nil, err
	}
	defer observers.close()
	modes := sandbox.NewModeGuard(log)
	defer func() { err = errors.Join(err, modes.Close()) }()
	trail, err := newTrail(s, log, observers, secrets, modes)
	if err != nil {
		return nil, err
	}
	by := &audit.Person{Name: osUser(), UID: os.Getuid(), How: audit.PersonFile}
	err = trail.Append(audit.Record{Event: audit.KeyReplaced, Person: by, Why: because})
	return key, errors.Join(err, trail.Close())
}
