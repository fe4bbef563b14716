package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tipstaff/internal/server/config"
)

// configFlag is the flag that names the configuration file; it takes precedence
// over TIPSTAFF_CONFIG.
type configFlag struct{ path string }

const configFlagName = "config"

func (f *configFlag) declare(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.path, configFlagName, "", "configuration and policy `FILE` (default: TIPSTAFF_CONFIG, else tipstaff/tipstaff.yaml in $XDG_CONFIG_HOME or ~/.config, else in /etc)")
}

// serving is settings for what runs commands: a variable that is a misspelt setting is
// an error there, and so is a directory for checkpoints that takes none. What looks after
// servers, or ends commands, works all the same.
func (f *configFlag) serving() (config.Settings, error) {
	s, err := f.settings()
	return s, joined(err, misspeltError(s.Environ), checkCheckpoints(s.AuditCheckpoints))
}

// settings reads the settings from the environment and the flag.
func (f *configFlag) settings() (config.Settings, error) {
	s, err := config.FromEnvironment(os.Environ())
	if err != nil {
		return s, fail(exitConfig, "cannot start with these settings:\n%w", err)
	}
	if f.path == "" {
		return s, nil
	}
	if s.ConfigFile, err = filepath.Abs(f.path); err != nil {
		return s, fail(exitConfig, "cannot find the configuration file %s: %w", f.path, err)
	}
	s.ConfigFrom = "--" + configFlagName
	return s, nil
}
