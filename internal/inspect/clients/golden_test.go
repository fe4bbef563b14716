package clients

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write the golden files anew")

// ours is the entry of the golden files.
var ours = Entry{Command: "/usr/local/bin/tipstaff", Args: []string{"serve"}, Env: []Variable{{"TIPSTAFF_PATH", "/home/me/.local/bin:/usr/bin"}}}

// edited are the clients whose files are changed.
func edited() (list []Client) {
	for _, c := range All() {
		if _, ok := c.format.(editor); ok {
			list = append(list, c)
		}
	}
	return list
}

// editorOf is the format of one of them.
func editorOf(t *testing.T, c Client) editor {
	t.Helper()
	f, ok := c.format.(editor)
	if !ok {
		t.Fatalf("the file of %s is not changed", c.Name)
	}
	return f
}

// cases are the texts that the file of a client can be, by name: with its own
// word for the servers, and also with the line endings of Windows and the mark
// that its editors write.
func cases(t *testing.T, c Client) (names []string, texts map[string]string) {
	t.Helper()
	key, ok := c.format.(jsonc)
	if !ok {
		t.Fatalf("%s has no cases", c.Name)
	}
	a, err := txtar.ParseFile("testdata/before/jsonc.txtar")
	if err != nil {
		t.Fatal(err)
	}
	texts = map[string]string{}
	for _, f := range a.Files {
		text := strings.ReplaceAll(string(f.Data), "KEY", string(key))
		if f.Name == "no_newline" {
			text = strings.TrimSuffix(text, "\n")
		}
		names = append(names, f.Name)
		texts[f.Name] = text
	}
	names = append(names, "crlf", "mark")
	texts["crlf"] = strings.ReplaceAll(texts["others"], "\n", "\r\n")
	texts["mark"] = mark + texts["others"]
	return names, texts
}

// visible shows what an editor hides.
func visible(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, mark, "<BOM>"), "\r", "<CR>")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "<no newline>\n"
	}
	return text
}

// TestAfterAnInstallationTheFileHoldsTheEntryAndAllElse, for each client and
// each text; the golden files show both.
func TestAfterAnInstallationTheFileHoldsTheEntryAndAllElse(t *testing.T) {
	for _, c := range edited() {
		t.Run(c.Name, func(t *testing.T) {
			golden := &txtar.Archive{Comment: []byte(c.Title + ": its file after an installation, for each of testdata/before.\n")}
			names, texts := cases(t, c)
			for _, name := range names {
				after, err := setEntry(editorOf(t, c), texts[name], c.entry.fields(ours), c.entry.foreign(ours))
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				golden.Files = append(golden.Files, txtar.File{Name: name, Data: []byte(visible(after))})
				again, err := setEntry(editorOf(t, c), after, c.entry.fields(ours), c.entry.foreign(ours))
				if err != nil || again != after {
					t.Errorf("%s: a second installation changes it: %v\n%s", name, err, Diff(after, again))
				}
				if without, err := removeEntry(editorOf(t, c), after); err != nil {
					t.Errorf("%s: it cannot be taken out again: %v", name, err)
				} else if _, old := texts[name], name == "old" || name == "old_inline"; !old && blank(t, c, texts[name]) != blank(t, c, without) {
					t.Errorf("%s: what is left is %q", name, without)
				}
			}
			compareGolden(t, c.Name, golden)
		})
	}
}

// compareGolden compares with testdata/golden, or writes there with -update.
func compareGolden(t *testing.T, name string, golden *txtar.Archive) {
	t.Helper()
	path, got := filepath.Join("testdata", "golden", name+".txtar"), txtar.Format(golden)
	if *update {
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("run with -update if this is right:\n%s", cmp.Diff(string(want), string(got)))
	}
}

// TestAnInstallationIsTakenBackByteForByte, also when it was made twice with
// different entries; and a file that was changed since keeps the change.
func TestAnInstallationIsTakenBackByteForByte(t *testing.T) {
	newer := ours
	newer.Command = "/opt/bin/tipstaff"
	for _, c := range edited() {
		names, texts := cases(t, c)
		for _, name := range append(names, "absent") {
			s := home(t)
			path := s.Path(c, User)
			if name != "absent" {
				put(t, path, texts[name])
			}
			for i, e := range []Entry{ours, newer, newer} {
				do(t, s, c, e, time.Unix(int64(i), 0))
			}
			if st := s.Look(c, User); st.Entry.Command != newer.Command || st.Fault != "" {
				t.Fatalf("%s, %s: %+v", c.Name, name, st)
			}
			undo(t, s, c)
			if name == "old" || name == "old_inline" {
				if st := s.Look(c, User); st.Installed || st.Fault != "" {
					t.Errorf("%s, %s: the entry is still there", c.Name, name)
				}
				continue
			}
			got, err := os.ReadFile(path)
			if name == "absent" {
				if !os.IsNotExist(err) {
					t.Errorf("%s: a file that was not there is left: %q, %v", c.Name, got, err)
				}
			} else if string(got) != texts[name] {
				t.Errorf("%s, %s: %s", c.Name, name, Diff(texts[name], string(got)))
			}
			left, err := os.ReadDir(filepath.Dir(path))
			if want := len(left) <= 1; err == nil && !want {
				t.Errorf("%s, %s: left behind: %v", c.Name, name, left)
			}
		}
	}
}

// TestWithoutTheCopyTheEntryAloneGoes: also then, what is left is what was there
// but for an empty table.
func TestWithoutTheCopyTheEntryAloneGoes(t *testing.T) {
	for _, c := range edited() {
		_, texts := cases(t, c)
		for _, name := range []string{"others", "crlf", "mark"} {
			after, err := setEntry(editorOf(t, c), texts[name], c.entry.fields(ours), nil)
			if err != nil {
				t.Fatalf("%s, %s: %v", c.Name, name, err)
			}
			got, err := removeEntry(editorOf(t, c), after)
			if err != nil || got != texts[name] {
				t.Errorf("%s, %s: %v\n%s", c.Name, name, err, Diff(texts[name], got))
			}
		}
	}
}

// home is a system with an empty home directory.
func home(t *testing.T) System {
	t.Helper()
	dir := t.TempDir()
	return System{GOOS: "linux", Home: filepath.Join(dir, "home"), Getenv: func(string) string { return "" }, Project: filepath.Join(dir, "project"), Journal: filepath.Join(dir, "journal")}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func do(t *testing.T, s System, c Client, e Entry, now time.Time) {
	t.Helper()
	changes, errs := s.Install([]Client{c}, e, Options{Scope: User})
	if len(errs) > 0 || len(changes) != 1 {
		t.Fatalf("%s: %v", c.Name, errs)
	}
	if _, err := changes[0].Do(now); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
}

func undo(t *testing.T, s System, c Client) {
	t.Helper()
	changes, errs := s.Uninstall([]Client{c}, Options{Scope: User})
	if len(errs) > 0 || len(changes) != 1 {
		t.Fatalf("%s: %v", c.Name, errs)
	}
	if _, err := changes[0].Do(time.Unix(9, 0)); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
}

// blank reports whether a text holds nothing that a person would miss.
func blank(t *testing.T, c Client, text string) bool {
	t.Helper()
	_, text = withoutMark(text)
	plain := strings.Join(strings.Fields(text), "")
	return plain == "" || plain == "{}" || plain == `{"`+string(c.format.(jsonc))+`":{}}`
}
