package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tipstaff/internal/clients"
	"tipstaff/internal/host"
)

// environmentFile is the file beside the user's policy in which init writes the
// settings that a policy file cannot hold, a line NAME=VALUE each. install puts
// them into the entries of clients, and systemd takes the file as an
// EnvironmentFile. The server itself does not read it: all its settings are
// variables.
const environmentFile = "environment"

// userConfigDir is the directory of the user's policy file.
func userConfigDir() (string, error) {
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tipstaff"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", fail(exitConfig, "no home directory is known, so there is no place for a policy; nothing was changed. Set HOME to your home directory")
	}
	return filepath.Join(home, ".config", "tipstaff"), nil
}

// keptEnvironment reads what init has written down.
func keptEnvironment() ([]clients.Variable, error) {
	dir, err := userConfigDir()
	if err != nil {
		return nil, nil //nolint:nilerr // without a home directory nothing is kept
	}
	path := filepath.Join(dir, environmentFile)
	text, err := host.ReadTrusted(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fail(exitConfig, "cannot use %s: %w; nothing was changed", path, err)
	}
	var vars []clients.Variable
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !variableName.MatchString(name) {
			return nil, fail(exitConfig, "%s: %q is no line NAME=VALUE of a setting; nothing was changed. Mend or remove the file", path, line)
		}
		vars = append(vars, clients.Variable{Name: name, Value: value})
	}
	return vars, nil
}
