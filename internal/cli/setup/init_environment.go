package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tipstaff/internal/exit"
	"tipstaff/internal/inspect/clients"
	"tipstaff/internal/policy/facts"
	"tipstaff/internal/server/config"
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
		return "", exit.Errorf(exit.Config, "no home directory is known, so there is no place for a policy; nothing was changed. Set HOME to your home directory")
	}
	return filepath.Join(home, ".config", "tipstaff"), nil
}

// projectEnvironment is the file of a project that narrows what its entries may
// run.
const projectEnvironment = ".tipstaff/" + environmentFile

// keptEnvironment reads what init has written down for a user.
func keptEnvironment() ([]clients.Variable, error) {
	dir, err := userConfigDir()
	if err != nil {
		return nil, nil //nolint:nilerr // without a home directory nothing is kept
	}
	return readEnvironment(filepath.Join(dir, environmentFile))
}

// narrowedEnvironment reads the list of a project. A project comes from others,
// so nothing else is taken from its file, and the list only where there is a
// policy that it narrows: alone it would allow.
func narrowedEnvironment(project string) ([]clients.Variable, error) {
	path := filepath.Join(project, projectEnvironment)
	vars, err := readEnvironment(path)
	if err != nil || len(vars) == 0 {
		return nil, err
	}
	for _, v := range vars {
		if v.Name != "ALLOWED_COMMANDS" {
			return nil, exit.Errorf(exit.Config, "%s sets %s; a project may only narrow, by ALLOWED_COMMANDS; nothing was changed. Remove the line, or say --env %s=… yourself", path, v.Name, v.Name)
		}
	}
	s, err := config.FromEnvironment(os.Environ())
	if err != nil || s.ConfigFile == "" {
		return nil, exit.Errorf(exit.Config, "%s narrows a policy, and there is none of yours; nothing was changed. Run tipstaff init first", path)
	}
	return vars, nil
}

// readEnvironment reads a file of lines NAME=VALUE; none if it is not there.
func readEnvironment(path string) ([]clients.Variable, error) {
	text, err := facts.ReadTrusted(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, exit.Errorf(exit.Config, "cannot use %s: %w; nothing was changed", path, err)
	}
	var vars []clients.Variable
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !variableName().MatchString(name) {
			return nil, exit.Errorf(exit.Config, "%s: %q is no line NAME=VALUE of a setting; nothing was changed. Mend or remove the file", path, line)
		}
		vars = append(vars, clients.Variable{Name: name, Value: value})
	}
	return vars, nil
}
