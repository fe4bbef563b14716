package main

import (
	"encoding/json"
	"io"
	"os"

	"github.com/spf13/cobra"

	"tipstaff/internal/config"
	"tipstaff/internal/proc"
)

// diagnosis is what doctor finds.
type diagnosis struct {
	Start  string `json:"start"`            // by what programs are started
	End    string `json:"end"`              // by what trees are ended
	Reason string `json:"reason,omitempty"` // why not by something better
	Ended  int    `json:"ended"`            // processes of dead servers that were ended
}

func newDoctor() *cobra.Command {
	var reap, asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine gives, and mend what dead servers left",
		Long: `Say by what means commands are started and ended on this machine, and why not
by better ones. With --reap, end what servers with this state directory have
left running when they were killed; a starting server does the same.`,
		Example: `  tipstaff doctor
  tipstaff doctor --reap`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := diagnose(reap)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(d)
			}
			d.print(cmd.OutOrStdout(), reap)
			return nil
		},
	}
	cmd.Flags().BoolVar(&reap, "reap", false, "end what dead servers have left running")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// diagnose makes an engine as a server would. Only with reap does it look at
// the state directory, because making an engine there ends survivors.
func diagnose(reap bool) (diagnosis, error) {
	var o proc.Options
	if reap {
		settings, err := config.FromEnvironment(os.Environ())
		if err != nil {
			return diagnosis{}, fail(exitConfig, "cannot tell where the state directory is:\n%w", err)
		}
		o.StateDir = settings.StateDir
	}
	engine, err := proc.NewEngine(o)
	if err != nil {
		return diagnosis{}, fail(exitFailure, "cannot start commands on this machine: %w", err)
	}
	m := engine.Means()
	d := diagnosis{Start: m.Start, End: m.End, Reason: m.Reason, Ended: engine.Reaped()}
	if err := engine.Close(); err != nil {
		return d, fail(exitFailure, "cannot clean up: %w", err)
	}
	return d, nil
}

func (d diagnosis) print(w io.Writer, reap bool) {
	say(w, "✔ starts programs by %s", d.Start)
	if d.Reason == "" {
		say(w, "✔ ends trees by %s", d.End)
	} else {
		say(w, "! ends trees by %s: %s", d.End, d.Reason)
	}
	if reap {
		say(w, "✔ processes of dead servers ended: %d", d.Ended)
	}
}
