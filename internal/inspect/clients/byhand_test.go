package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// byHand are the clients whose files people change themselves, with what stands in such
// a file beside the entry.
var byHand = map[string]string{
	"codex":    "model = \"x\"\n\n[mcp_servers.other]\ncommand = \"npx\"\n\n",
	"continue": "name: mine\nversion: 1.0.0\nschema: v1\n",
	"goose":    "GOOSE_MODE: auto\n",
}

func TestTheOtherClientsFilesAreChanged(t *testing.T) {
	if n := len(edited()); n != len(All())-len(byHand) {
		t.Errorf("%d are changed, and %d are not", n, len(byHand))
	}
}

// TestAnEntryThatAPersonHasPutThereIsRecognized, as installed, by a second installation,
// and by what takes it out again.
func TestAnEntryThatAPersonHasPutThereIsRecognized(t *testing.T) {
	web := Entry{URL: "http://127.0.0.1:7075/mcp"}
	newer := ours
	newer.Command = "/opt/bin/tipstaff"
	for name, text := range byHand {
		c := find(t, name)[0]
		if _, ok := c.format.(reader); !ok {
			continue
		}
		for _, e := range []Entry{ours, web} {
			snippet, err := c.Snippet(e)
			must(t, err)
			for _, pasted := range []string{text + snippet, snippet + text, mark + strings.ReplaceAll(text+snippet, "\n", "\r\n")} {
				s := home(t)
				put(t, s.Path(c, User), pasted)
				if st := s.Look(c, User); !st.Installed || st.Entry.Command != e.Command || st.Entry.URL != e.URL || st.Fault != "" || st.Ask != "" {
					t.Errorf("%s: %+v\n%s", name, st, pasted)
				}
				if changes, errs := s.Install([]Client{c}, e, Options{Scope: User}); len(errs) > 0 || len(changes) != 1 || !changes[0].Nothing() {
					t.Errorf("%s, again: %v", name, errs)
				}
				if _, errs := s.Install([]Client{c}, newer, Options{Scope: User}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "Put the entry there yourself") {
					t.Errorf("%s, another entry: %v", name, errs)
				}
				if _, errs := s.Uninstall([]Client{c}, Options{Scope: User}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "Take the entry tipstaff out yourself.") {
					t.Errorf("%s, taken out: %v", name, errs)
				}
				if got, err := os.ReadFile(s.Path(c, User)); err != nil || string(got) != pasted {
					t.Errorf("%s was changed: %q, %v", name, got, err)
				}
			}
		}
	}
}

func TestWithoutTheEntryThereIsNothingToTakeOut(t *testing.T) {
	for name, text := range byHand {
		s := home(t)
		c := find(t, name)[0]
		for range 2 { // without a file, and with one
			if st := s.Look(c, User); st.Installed || st.Fault != "" || st.Ask != "" {
				t.Errorf("%s: %+v", name, st)
			}
			put(t, s.Path(c, User), text)
		}
	}
	for _, name := range []string{"continue", "goose"} {
		s := home(t)
		c := find(t, name)[0]
		put(t, s.Path(c, User), byHand[name])
		if changes, errs := s.Uninstall([]Client{c}, Options{Scope: User}); len(errs) > 0 || len(changes) != 1 || !changes[0].Nothing() {
			t.Errorf("%s: %v", name, errs)
		}
	}
}

// TestACommandOfTheClientSaysWhatTipstaffCannotTell: tipstaff reads no TOML.
func TestACommandOfTheClientSaysWhatTipstaffCannotTell(t *testing.T) {
	s := home(t)
	c := find(t, "codex")[0]
	snippet, err := c.Snippet(ours)
	must(t, err)
	path := s.Path(c, User)
	put(t, path, byHand["codex"]+snippet)
	if st := s.Look(c, User); st.Installed || st.Fault != "" || st.Ask != "codex mcp get tipstaff" {
		t.Errorf("%+v", st)
	}
	if _, errs := s.Install([]Client{c}, ours, Options{Scope: User}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "Run this yourself: codex mcp add tipstaff ") {
		t.Error(errs)
	}
	if _, errs := s.Install([]Client{c}, Entry{URL: "http://127.0.0.1:7075/mcp"}, Options{Scope: User}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "codex mcp add tipstaff --url http://127.0.0.1:7075/mcp --bearer-token-env-var TIPSTAFF_TOKEN") {
		t.Error(errs)
	}
	if _, errs := s.Uninstall([]Client{c}, Options{Scope: User}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "Run this yourself: codex mcp remove tipstaff") {
		t.Error(errs)
	}
	// Its command knows no files of projects.
	put(t, s.Path(c, Project), snippet)
	if _, errs := s.Install([]Client{c}, ours, Options{Scope: Project}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "Put the entry there yourself.") {
		t.Error(errs)
	}
	if _, errs := s.Uninstall([]Client{c}, Options{Scope: Project}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "Take the entry tipstaff out yourself.") {
		t.Error(errs)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestSnippetsOfTOMLAndYAML(t *testing.T) {
	e := Entry{Command: `/opt/my "tools"/tipstaff`, Args: []string{"serve", "it's"}, Env: []Variable{{"A", "true"}, {"B-C", "x: y"}}}
	for name, want := range map[string]string{
		"codex": "[mcp_servers.tipstaff]\ncommand = '/opt/my \"tools\"/tipstaff'\nargs = [\"serve\", \"it's\"]\nenv = { A = \"true\", B-C = \"x: y\" }\n",
		"continue": `# A file of its own begins with: name: tipstaff; version: "0.0.1"; schema: v1
mcpServers:
  - name: tipstaff
    type: stdio
    command: "/opt/my \"tools\"/tipstaff"
    args: [serve, "it's"]
    env:
      A: "true"
      B-C: "x: y"
`,
		"goose": `extensions:
  tipstaff:
    enabled: true
    type: stdio
    name: tipstaff
    description: "Runs commands by your rules, confined and on the record"
    cmd: "/opt/my \"tools\"/tipstaff"
    args: [serve, "it's"]
    envs:
      A: "true"
      B-C: "x: y"
    timeout: 300
`,
	} {
		if got, err := find(t, name)[0].Snippet(e); err != nil || got != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
}
