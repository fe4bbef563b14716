package run

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/approval"
	"tipstaff/internal/server"
	"tipstaff/internal/tty"
)

// askHere asks the person who started the command, in the terminal; nil if
// there is no terminal.
func askHere(in *os.File, out io.Writer) approval.Ask {
	if _, terminal := tty.Width(in); !terminal { // /dev/null is a character device, too
		return nil
	}
	return func(_ context.Context, q policy.Question) (policy.Answer, error) {
		tty.Say(out, "The policy leaves this command to a person.\n\n%s\nRun it? [y/N, or why not]", strings.TrimSuffix(approval.Show(&q), "\n"))
		// An interrupt ends the process without waiting for the line.
		line, err := bufio.NewReader(io.LimitReader(in, 1000)).ReadString('\n')
		if err != nil && line == "" {
			return policy.Answer{}, err
		}
		a := policy.Answer{By: server.OSUser(), How: policy.ByTerminal}
		switch said := strings.TrimSpace(line); strings.ToLower(said) {
		case "y", "yes":
			a.Choice = policy.Once
		case "", "n", "no":
		default:
			a.Comment = cmdline.Escape(said)
		}
		return a, nil
	}
}
