package setup

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"tipstaff/internal/paths"
	"tipstaff/internal/policy/facts"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/policy/load"
	"tipstaff/internal/proc"
	"tipstaff/internal/sandbox"
	"tipstaff/internal/server"
	"tipstaff/internal/server/config"
	"tipstaff/internal/strictjson"
)

// programPaths knows where programs are: on the PATH of this shell, and in the
// usual places. Directories in the project do not count: commands can replace
// the programs there.
type programPaths struct{ dirs facts.SearchPath }

func newProgramPaths(project string) programPaths {
	home, _ := os.UserHomeDir()
	var p programPaths
	for _, dir := range append(facts.Trusted(os.Getenv("PATH")), facts.UsualDirs(home)...) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && !paths.Within(real, project) && !slices.Contains(p.dirs, dir) {
			p.dirs = append(p.dirs, dir)
		}
	}
	return p
}

// of is the directory of a program; "" if it is nowhere.
func (p programPaths) of(name string) string {
	path, err := p.dirs.Find(name)
	if err != nil {
		return ""
	}
	return filepath.Dir(path)
}

// list is the value of TIPSTAFF_PATH: the directories of these programs, those of
// the system, and no others, in the order in which they are searched now.
func (p programPaths) list(programs []string) string {
	needed := map[string]bool{"/usr/local/bin": true, "/usr/bin": true, "/bin": true}
	for _, name := range programs {
		needed[p.of(name)] = true
	}
	var dirs facts.SearchPath
	for _, dir := range p.dirs {
		if needed[dir] {
			dirs = append(dirs, dir)
		}
	}
	return dirs.String()
}

// holdsHosts reports whether a server on this machine could hold commands to a
// list of hosts: it makes the sandbox as a server would.
func holdsHosts(ctx context.Context) bool {
	if !sandboxHere() || ctx.Err() != nil {
		return false
	}
	s, err := config.FromEnvironment(os.Environ())
	if err != nil {
		return false
	}
	s.ConfigFile = ""
	ev, err := server.NewEvaluatorWithoutFile(s, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return false
	}
	engine, err := proc.NewEngine(proc.Options{})
	if err != nil {
		return false
	}
	status, err := ev.TryConfinement(engine, sandbox.Terms{})
	return errors.Join(err, engine.Close()) == nil && status.Tier == sandbox.Namespaces.String()
}

// policyKnowsShell reports whether policies have the key shell.
func policyKnowsShell() bool {
	text, err := language.Schema()
	if err != nil {
		return false
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if strictjson.Unmarshal(text, &schema) != nil {
		return false
	}
	_, known := schema.Properties["shell"]
	return known
}

// notNamed are the programs for which a person's own policy has no row, so that
// a list of the project's cannot give them to an agent.
func notNamed(f load.File, programs []string) (none []string) {
	for _, name := range programs {
		if !slices.Contains(f.Names(), name) && !slices.Contains(f.Names(), "*") {
			none = append(none, name)
		}
	}
	return none
}
