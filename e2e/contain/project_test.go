//go:build linux && !race

package contain

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// project is a small real project and the work done in it: a txtar archive whose
// files are made below home/ and home/work/, the workspace. Each line of its
// comment says one thing:
//
//	needs PROGRAM…     skip it if one is missing
//	network on off     the settings of the network to play it with; default: on
//	session            its commands share a session, and their words are separated by blanks
//	# a sentence       begins a step; a step that fails ends the project
//	$ a command line   is run by execute_command, or in the session, and must end with 0
//	> text             expected on standard output of the command before
//	again              the next step starts a new server with the present files
//	in TIER            the next step is only for this tier
type project struct {
	name     string
	needs    []string
	networks []string
	session  bool
	files    map[string]string
	steps    []toolStep
}

type toolStep struct {
	sentence string
	again    bool
	tier     string // "": both
	commands []toolCommand
}

type toolCommand struct{ line, says string }

func readProject(t *testing.T, file string) *project {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &project{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), networks: []string{"on"}, files: map[string]string{}}
	for _, f := range archive.Files {
		p.files[f.Name] = string(f.Data)
	}
	var next toolStep
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch last := len(p.steps) - 1; {
		case line == "":
		case word == "needs":
			p.needs = strings.Fields(rest)
		case word == "network":
			p.networks = strings.Fields(rest)
		case line == "session":
			p.session = true
		case line == "again":
			next.again = true
		case word == "in":
			next.tier = rest
		case word == "#":
			next.sentence = rest
			p.steps, next = append(p.steps, next), toolStep{}
		case word == "$" && last >= 0:
			p.steps[last].commands = append(p.steps[last].commands, toolCommand{line: rest})
		case word == ">" && last >= 0 && len(p.steps[last].commands) > 0:
			p.steps[last].commands[len(p.steps[last].commands)-1].says = rest
		default:
			t.Fatalf("%s: cannot understand %q", file, line)
		}
	}
	return p
}

// programs are those that the project's command lines begin with.
func (p *project) programs() []string {
	var list []string
	for _, step := range p.steps {
		for _, c := range step.commands {
			name, _, _ := strings.Cut(c.line, " ")
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// env is the environment of a user of Debian's programs, with the tester's own
// PATH for those that Debian does not have.
func (p *project) env(t *testing.T) []string {
	t.Helper()
	path := []string{"/usr/local/bin", "/usr/bin", "/bin"}
	env := []string{"LANG=C.UTF-8", "USER=somebody"}
	for _, name := range p.needs {
		if found, err := exec.LookPath(name); err == nil && !slices.Contains(path, filepath.Dir(found)) {
			path = append(path, filepath.Dir(found))
		}
	}
	if home, err := os.UserHomeDir(); err == nil && slices.Contains(p.needs, "cargo") {
		env = append(env, "RUSTUP_HOME="+filepath.Join(home, ".rustup"))
	}
	return append(env, "PATH="+strings.Join(path, ":"))
}
