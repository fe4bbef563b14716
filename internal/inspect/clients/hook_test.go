package clients

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

var ourHook = Entry{Command: "/usr/local/bin/tip staff/tipstaff", Args: []string{"hook", "claude-code"}, Env: []Variable{{"TIPSTAFF_CONFIG", "/home/me/it's.yaml"}}}

func hookCases(t *testing.T) (c Client, names []string, texts map[string]string) {
	t.Helper()
	c, ok := FindHook("claude-code")
	a, err := txtar.ParseFile("testdata/before/hooks.txtar")
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	texts = map[string]string{}
	for _, f := range a.Files {
		names = append(names, f.Name)
		texts[f.Name] = string(f.Data)
	}
	texts["no_newline"] = strings.TrimSuffix(texts["no_newline"], "\n")
	names = append(names, "crlf", "mark")
	texts["crlf"] = strings.ReplaceAll(texts["others"], "\n", "\r\n")
	texts["mark"] = mark + texts["others"]
	return c, names, texts
}

// TestTheSettingsHoldTheHooksAndAllElse, for each text; the golden file shows
// both.
func TestTheSettingsHoldTheHooksAndAllElse(t *testing.T) {
	c, names, texts := hookCases(t)
	golden := &txtar.Archive{Comment: []byte("The settings of Claude Code after the hooks are installed, for each of testdata/before/hooks.txtar.\n")}
	for _, name := range names {
		after, err := setEntry(editorOf(t, c), texts[name], c.entry.fields(ourHook), nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		golden.Files = append(golden.Files, txtar.File{Name: name, Data: []byte(visible(after))})
		if again, err := setEntry(editorOf(t, c), after, c.entry.fields(ourHook), nil); err != nil || again != after {
			t.Errorf("%s: a second installation changes it: %v\n%s", name, err, Diff(after, again))
		}
		got, err := removeEntry(editorOf(t, c), after)
		if err != nil {
			t.Errorf("%s: they cannot be taken out again: %v", name, err)
		} else if (name == "others" || name == "crlf" || name == "mark" || name == "tabs") && got != texts[name] {
			t.Errorf("%s: without the copy something else is left:\n%s", name, Diff(texts[name], got))
		}
	}
	compareGolden(t, "hooks", golden)
}

func TestHooksAreTakenBackByteForByte(t *testing.T) {
	c, names, texts := hookCases(t)
	newer := ourHook
	newer.Command = "/opt/bin/tipstaff"
	for _, name := range append(names, "absent") {
		if name == "old" {
			continue // there were hooks before
		}
		s := home(t)
		path := s.Path(c, User)
		if name != "absent" {
			put(t, path, texts[name])
		}
		for i, e := range []Entry{ourHook, newer, newer} {
			do(t, s, c, e, time.Unix(int64(i), 0))
		}
		st := s.Look(c, User)
		if e, err := HookEntry(st); !st.Installed || st.Fault != "" || err != nil || !reflect.DeepEqual(e, newer) {
			t.Fatalf("%s: %+v, %+v, %v", name, st, e, err)
		}
		undo(t, s, c)
		got, err := os.ReadFile(path)
		if name == "absent" {
			if !os.IsNotExist(err) {
				t.Errorf("a file that was not there is left: %q, %v", got, err)
			}
		} else if string(got) != texts[name] {
			t.Errorf("%s: %s", name, Diff(texts[name], string(got)))
		}
	}
}

func TestSettingsThatCannotBeReadSurelyAreLeftAlone(t *testing.T) {
	c, _, _ := hookCases(t)
	for text, want := range map[string]string{
		`{"hooks": []}`:                                   "not an object",
		`{"hooks": {"PreToolUse": {}}}`:                   "not a list",
		`{"hooks": {"PreToolUse": [], "PreToolUse": []}}`: "stands twice",
		`{"hooks": {"PreToolUse": [{"hooks": [{"command": "tipstaff hook claude-code"}, {"command": "x"}]}]}}`:                                        "in one group with others",
		`{"hooks": {"PreToolUse": [{"hooks": [{"command": "tipstaff hook claude-code"}]}, {"hooks": [{"command": "x/tipstaff hook claude-code"}]}]}}`: "stands twice",
		`{`: "not JSON",
	} {
		if got, err := setEntry(editorOf(t, c), text, c.entry.fields(ourHook), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %s", text, err, got)
		}
	}
}

func TestOnlyOurHooksAreOurs(t *testing.T) {
	for command, want := range map[string]bool{
		"/usr/bin/tipstaff hook claude-code": true, "'/a b/tipstaff' hook claude-code --env A=b": true, `'C:\x\tipstaff.exe' hook claude-code`: true,
		"tipstaff hook install claude-code": false, "tipstaff hook codex": false, "echo tipstaff hook claude-code": false, "tipstaff": false, "'": false, "": false,
	} {
		if got := isHook(command); got != want {
			t.Errorf("%q: %t", command, got)
		}
	}
}
