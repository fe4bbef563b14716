package flags

import (
	"strings"

	"github.com/spf13/cobra"

	"tipstaff/internal/exit"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/server/config"
)

// WithEngine takes the addresses of the flag --engine, which go before those of the
// environment.
func WithEngine(s config.Settings, flag string) (config.Settings, error) {
	if flag == "" {
		return s, nil
	}
	s.Engine.Servers = nil
	for part := range strings.SplitSeq(flag, ",") {
		if part = strings.TrimSpace(part); part != "" {
			s.Engine.Servers = append(s.Engine.Servers, part)
		}
	}
	if err := natsx.CheckServers(s.Engine.Servers); err != nil {
		return s, exit.Errorf(exit.Config, "cannot start with these settings:\n--engine (TIPSTAFF_ENGINE): %w", err)
	}
	return s, nil
}

// DeclareEngine declares the flag that names the NATS servers of a fleet.
func DeclareEngine(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "engine", "", "`SERVERS` of the fleet's NATS, as nats://HOST:4222,… (default TIPSTAFF_ENGINE)")
}
