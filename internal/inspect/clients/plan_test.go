package clients

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func find(t *testing.T, names ...string) (list []Client) {
	t.Helper()
	for _, name := range names {
		c, ok := Find(name)
		if !ok {
			t.Fatalf("there is no client %s", name)
		}
		list = append(list, c)
	}
	return list
}

func TestTheTableIsSortedAndWhole(t *testing.T) {
	if !slices.IsSorted(Names()) || len(Names()) != 16 {
		t.Errorf("%q", Names())
	}
	for _, c := range All() {
		if c.Title == "" || c.Restart == "" || c.format == nil || c.entry.stdio == nil || c.entry.http == nil && c.NoHTTP == "" || c.entry.http != nil && c.Token() == "" {
			t.Errorf("%s: something is missing", c.Name)
		}
		for _, goos := range []string{"linux", "darwin", "windows"} {
			s := System{GOOS: goos, Home: "/home/me", Getenv: func(string) string { return "" }, Project: "/p"}
			if p := s.Path(c, User); !strings.HasPrefix(p, "/home/me/") {
				t.Errorf("%s on %s: %q", c.Name, goos, p)
			}
			if s.Path(c, Project) != "" && !strings.HasPrefix(s.Path(c, Project), "/p/") {
				t.Errorf("%s in a project: %q", c.Name, s.Path(c, Project))
			}
		}
	}
}

func TestWhereTheFilesOfClientsAre(t *testing.T) {
	vars := map[string]string{}
	for _, c := range []struct{ client, goos, set, want string }{
		{"claude-code", "linux", "", "/home/me/.claude.json"},
		{"claude-code", "linux", "CLAUDE_CONFIG_DIR=/c", "/c/.claude.json"},
		{"claude-desktop", "darwin", "", "/home/me/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", "APPDATA=/a", "/a/Claude/claude_desktop_config.json"},
		{"vscode", "linux", "XDG_CONFIG_HOME=/x", "/x/Code/User/mcp.json"},
		{"vscode", "linux", "XDG_CONFIG_HOME=relative", ""},
		{"vscode", "darwin", "XDG_CONFIG_HOME=/x", "/home/me/Library/Application Support/Code/User/mcp.json"},
		{"codex", "windows", "CODEX_HOME=/c", "/c/config.toml"},
		{"goose", "windows", "", "/home/me/AppData/Roaming/Block/goose/config/config.yaml"},
		{"crush", "windows", "", "/home/me/AppData/Local/crush/crush.json"},
		{"zed", "darwin", "XDG_CONFIG_HOME=/x", "/home/me/.config/zed/settings.json"},
	} {
		clear(vars)
		name, value, _ := strings.Cut(c.set, "=")
		vars[name] = value
		s := System{GOOS: c.goos, Home: "/home/me", Getenv: func(n string) string { return vars[n] }}
		if got := s.Path(find(t, c.client)[0], User); got != c.want {
			t.Errorf("%s on %s with %s: %q, want %q", c.client, c.goos, c.set, got, c.want)
		}
	}
}

func TestOfSeveralFilesTheOneThatExistsCounts(t *testing.T) {
	s := home(t)
	c := find(t, "opencode")[0]
	want := filepath.Join(s.Home, ".config", "opencode", "opencode.jsonc")
	put(t, want, "{}")
	if got := s.Path(c, User); got != want {
		t.Errorf("%s", got)
	}
	c = find(t, "cline")[0]
	want = filepath.Join(s.Home, ".cline", "data", "settings", "cline_mcp_settings.json")
	put(t, filepath.Join(filepath.Dir(want), "other"), "")
	if got := s.Path(c, User); got != want {
		t.Errorf("%s", got)
	}
}

func TestAClientIsThereByItsFilesOrItsProgram(t *testing.T) {
	s := home(t)
	c := find(t, "codex")[0]
	if got := s.Present(c); got != "" {
		t.Errorf("an empty home directory: %s", got)
	}
	bin := filepath.Join(s.Home, "bin")
	put(t, filepath.Join(bin, "codex"), "#!/bin/sh\n")
	s.Programs = []string{bin}
	if got := s.Present(c); got != "" {
		t.Errorf("a file that is no program: %s", got)
	}
	if err := os.Chmod(filepath.Join(bin, "codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := s.Present(c); got != filepath.Join(bin, "codex") {
		t.Errorf("its program: %q", got)
	}
	if err := os.Mkdir(filepath.Join(s.Home, ".codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := s.Present(c); got != filepath.Join(s.Home, ".codex") {
		t.Errorf("its directory: %q", got)
	}
	if got := s.Present(find(t, "claude-code")[0]); got != "" {
		t.Errorf("the home directory itself says nothing: %s", got)
	}
}

// TestTwoClientsThatShareAFileShareOneChange, and neither undoes the other's.
func TestTwoClientsThatShareAFileShareOneChange(t *testing.T) {
	s := home(t)
	both := find(t, "claude-code", "copilot")
	put(t, filepath.Join(s.Project, ".mcp.json"), "{}\n")
	o := Options{Scope: Project}
	changes, errs := s.Install(both, ours, o)
	if len(errs) > 0 || len(changes) != 1 || len(changes[0].Clients) != 2 {
		t.Fatalf("%+v, %v", changes, errs)
	}
	if _, err := changes[0].Do(time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]Client{both, both[:1], both[1:]} {
		if changes, errs = s.Install(list, ours, o); len(errs) > 0 || !changes[0].Nothing() {
			t.Errorf("again: %v\n%s", errs, changes[0].Diff())
		}
	}
	if changes, errs = s.Uninstall(both, o); len(errs) > 0 || len(changes) != 1 {
		t.Fatalf("%+v, %v", changes, errs)
	}
	if _, err := changes[0].Do(time.Now()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(s.Project, ".mcp.json")); err != nil || string(got) != "{}\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWithoutAHomeDirectoryEachClientIsToldSo(t *testing.T) {
	s := System{GOOS: "linux", Getenv: func(string) string { return "" }, Project: t.TempDir()}
	changes, errs := s.Install(All(), ours, Options{Scope: User})
	if len(changes) != 0 || len(errs) != len(All()) {
		t.Fatalf("%v, %v", changes, errs)
	}
	for _, err := range errs {
		if !strings.Contains(err.Error(), "no home directory is known") || !strings.Contains(err.Error(), "Set HOME") {
			t.Error(err)
		}
	}
}

// TestAnAddressTakesThePlaceOfACommandAndBack: no key of the other kind stays,
// and the user's own do.
func TestAnAddressTakesThePlaceOfACommandAndBack(t *testing.T) {
	web := Entry{URL: "http://127.0.0.1:7075/mcp"}
	for _, c := range edited() {
		if c.NoHTTP != "" {
			if _, errs := home(t).Install([]Client{c}, web, Options{Scope: User}); len(errs) != 1 {
				t.Errorf("%s: %v", c.Name, errs)
			}
			continue
		}
		text := ""
		for _, e := range []Entry{ours, web, ours, web} {
			after, err := setEntry(editorOf(t, c), text, c.entry.fields(e), c.entry.foreign(e))
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			m, err := editorOf(t, c).entry(after)
			if got := c.entry.read(m); err != nil || got.Command != e.Command || got.URL != e.URL {
				t.Errorf("%s: %v, %+v\n%s", c.Name, err, got, after)
			}
			for _, key := range c.entry.foreign(e) {
				if _, there := m[key]; there && key != "env" && key != "envs" && key != "environment" {
					t.Errorf("%s: %s is still there:\n%s", c.Name, key, after)
				}
			}
			if strings.Contains(after, "TOKEN") && e.URL == "" {
				t.Errorf("%s: a token in an entry without one:\n%s", c.Name, after)
			}
			text = after
		}
	}
}

func TestTheClientsOwnCommandSaysTheSame(t *testing.T) {
	for name, want := range map[string]string{
		"claude-code": `claude mcp add-json --scope user tipstaff '{"type":"stdio","command":"/usr/local/bin/tipstaff","args":["serve"],"env":{"TIPSTAFF_PATH":"/home/me/.local/bin:/usr/bin"}}'`,
		"codex":       "codex mcp add tipstaff --env TIPSTAFF_PATH=/home/me/.local/bin:/usr/bin -- /usr/local/bin/tipstaff serve",
		"gemini":      "gemini mcp add --scope user -e TIPSTAFF_PATH=/home/me/.local/bin:/usr/bin tipstaff /usr/local/bin/tipstaff serve",
		"vscode":      `code --add-mcp '{"name":"tipstaff","type":"stdio","command":"/usr/local/bin/tipstaff","args":["serve"],"env":{"TIPSTAFF_PATH":"/home/me/.local/bin:/usr/bin"}}'`,
		"cursor":      "",
	} {
		if got := find(t, name)[0].Vendor(ours, User); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestADifferenceShowsTheChangeAndALittleAround(t *testing.T) {
	got := Diff("a\nb\nc\nd\ne\n", "a\nb\nc\nd\nnew\ne\n")
	if want := "  …\n  b\n  c\n  d\n+ new\n  e\n"; got != want {
		t.Errorf("%q", got)
	}
	if got := Diff("", "x\n"); got != "+ x\n" {
		t.Errorf("%q", got)
	}
}
