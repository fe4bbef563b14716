//go:build unix

package clients

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestWhatCannotBeChangedSafelyIsLeftAloneAndSaid: what was found, that nothing
// was changed, and what to do.
func TestWhatCannotBeChangedSafelyIsLeftAloneAndSaid(t *testing.T) {
	link := func(t *testing.T, path string) {
		target := filepath.Join(filepath.Dir(filepath.Dir(path)), "dotfiles.json")
		put(t, target, "{}\n")
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.Symlink(target, path))
	}
	for says, c := range map[string]struct {
		client string
		make   func(t *testing.T, path string)
		found  string
		do     string
	}{
		"broken JSON":      {"cursor", text("{\"mcpServers\": {\n"), "is left alone: it is not JSON", "Mend it, or paste the entry there yourself."},
		"a list":           {"cursor", text("[]"), "not an object in braces", "Mend it"},
		"servers as list":  {"cursor", text(`{"mcpServers": []}`), `"mcpServers" in it is not an object`, "Mend it"},
		"an entry of text": {"cursor", text(`{"mcpServers": {"tipstaff": "x"}}`), `"tipstaff" in it is not an object`, "Mend it"},
		"a key twice":      {"cursor", text(`{"mcpServers": {}, "mcpServers": {}}`), `the key "mcpServers" stands twice`, "Mend it"},
		"a client's own":   {"codex", text("[a]\n"), "Codex changes ", "Run this yourself: codex mcp add tipstaff --env TIPSTAFF_PATH=/home/me/.local/bin:/usr/bin -- /usr/local/bin/tipstaff serve"},
		"to paste":         {"continue", text("name: mine\n"), "tipstaff does not change ", "Put the entry there yourself."},
		"broken YAML":      {"goose", text("extensions:\n\t- x\n  y: [\n"), "is left alone: it is not YAML", "Mend it"},
		"a directory": {"cursor", func(t *testing.T, path string) { must(t, os.MkdirAll(path, 0o700)) },
			"is a directory, where a file is expected", "Move the directory out of the way"},
		"a pipe": {"cursor", func(t *testing.T, path string) {
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, syscall.Mkfifo(path, 0o600))
		}, "is no plain file", "Put a plain file in its place"},
		"read-only": {"cursor", func(t *testing.T, path string) { text("{}")(t, path); must(t, os.Chmod(path, 0o444)) },
			"is read-only", "chmod u+w"},
		"a link": {"cursor", link, "is a link to ", "--follow"},
		"a link to nothing": {"cursor", func(t *testing.T, path string) {
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			must(t, os.Symlink("/nowhere/at/all", path))
		}, "is a link that leads nowhere", "Mend or remove the link"},
		"two names": {"cursor", func(t *testing.T, path string) { text("{}")(t, path); must(t, os.Link(path, path+".other")) },
			"is one file under 2 names", "Paste the entry"},
		"another user's": {"cursor", func(t *testing.T, path string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			text("{}")(t, path)
			must(t, os.Chown(path, 1, 1))
		}, "belongs to the user ", "Install as the user who owns it"},
	} {
		t.Run(says, func(t *testing.T) {
			s := home(t)
			client, _ := Find(c.client)
			path := s.Path(client, User)
			c.make(t, path)
			before := snapshot(t, s.Home)
			changes, errs := s.Install([]Client{client}, ours, Options{Scope: User})
			if len(changes) != 0 || len(errs) != 1 {
				t.Fatalf("it would be changed: %v, %v", changes, errs)
			}
			got := errs[0].Error()
			if !strings.Contains(got, c.found) || !strings.Contains(got, c.do) || !strings.Contains(got, "nothing was changed") || !strings.Contains(got, path) {
				t.Errorf("it says: %s", got)
			}
			if after := snapshot(t, s.Home); after != before {
				t.Errorf("it was changed:\n%s\n%s", before, after)
			}
		})
	}
}

func text(s string) func(*testing.T, string) {
	return func(t *testing.T, path string) { put(t, path, s) }
}

// snapshot is everything below a directory, with modes and texts.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(path + " " + info.Mode().String() + "\n")
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			b.Write(data)
			return err
		}
		return nil
	}))
	return b.String()
}

func TestALinkIsFollowedWhereAPersonSaysSo(t *testing.T) {
	s := home(t)
	c, _ := Find("cursor")
	path, target := s.Path(c, User), filepath.Join(s.Home, "dotfiles.json")
	put(t, target, "{}\n")
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.Symlink(target, path))
	o := Options{Scope: User, Follow: true}
	changes, errs := s.Install([]Client{c}, ours, o)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	_, err := changes[0].Do(time.Now())
	must(t, err)
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if st := s.Look(c, User); !st.Installed {
		t.Errorf("%+v", st)
	}
	if changes, errs = s.Uninstall([]Client{c}, o); len(errs) > 0 {
		t.Fatal(errs)
	}
	_, err = changes[0].Do(time.Now())
	must(t, err)
	if got, err := os.ReadFile(target); err != nil || string(got) != "{}\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestModeAndOwnerStay, of the file and of the copy beside it.
func TestModeAndOwnerStay(t *testing.T) {
	s := home(t)
	c, _ := Find("cursor")
	path := s.Path(c, User)
	put(t, path, "{}")
	must(t, os.Chmod(path, 0o624))
	group := os.Getegid()
	if os.Geteuid() == 0 {
		group = 12
		must(t, os.Chown(path, 0, group))
	}
	changes, errs := s.Install([]Client{c}, ours, Options{Scope: User})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	backup, err := changes[0].Do(time.Now())
	must(t, err)
	for _, p := range []string{path, backup} {
		info, err := os.Stat(p)
		must(t, err)
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || info.Mode().Perm() != 0o624 || int(st.Gid) != group {
			t.Errorf("%s: %v, %+v", p, info.Mode(), info.Sys())
		}
	}
	if data, err := os.ReadFile(backup); err != nil || string(data) != "{}" {
		t.Errorf("the copy: %q, %v", data, err)
	}
}

// TestAClientThatWritesMeanwhileLosesNothing: its change stays, and ours is not
// made.
func TestAClientThatWritesMeanwhileLosesNothing(t *testing.T) {
	s := home(t)
	c, _ := Find("claude-code")
	path := s.Path(c, User)
	for says, before := range map[string]string{"a file": "{}", "none": ""} {
		if before != "" {
			put(t, path, before)
		}
		changes, errs := s.Install([]Client{c}, ours, Options{Scope: User})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		put(t, path, `{"numStartups": 2}`)
		if _, err := changes[0].Do(time.Now()); err == nil || !strings.Contains(err.Error(), "was changed by another program meanwhile") {
			t.Errorf("%s: %v", says, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != `{"numStartups": 2}` {
			t.Errorf("%s: %q, %v", says, got, err)
		}
		left, err := os.ReadDir(s.Home)
		if err != nil || len(left) != 1 {
			t.Errorf("%s: left behind: %v, %v", says, left, err)
		}
		must(t, os.Remove(path))
	}
}

// TestATextThatWouldEndTheProgramIsRefused: the parser calls itself for each level, and the
// stack of a megabyte of brackets ended the program; 64 MiB of zeros took 8 GB.
func TestATextThatWouldEndTheProgramIsRefused(t *testing.T) {
	for says, text := range map[string]string{
		"lists":          `{"x":` + strings.Repeat("[", 2_000_000),
		"objects":        `{"x":` + strings.Repeat(`{"a":`, 2_000_000),
		"behind comment": `{/* [ */ "x\\\"]": // ]]` + "\n" + strings.Repeat("[", 2_000_000),
		"values":         `{"x":[` + strings.Repeat("0,", maxValues+1) + `0]}`,
	} {
		for _, c := range All() {
			f, ok := c.format.(editor)
			if !ok {
				continue
			}
			if _, err := f.entry(text); err == nil || !strings.Contains(err.Error(), "it has more than") {
				t.Errorf("%s, %s: %v", c.Name, says, err)
			}
		}
	}
	nested := `{"x":` + strings.Repeat("[", maxLevels-1) + strings.Repeat("]", maxLevels-1) + `, "y": "` + strings.Repeat("[{,", maxValues) + `"}`
	if _, err := jsonc("x2").entry(nested); err != nil {
		t.Error(err)
	}
}
