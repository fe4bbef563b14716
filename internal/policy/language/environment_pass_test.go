package language_test

import (
	"strings"
	"testing"

	"tipstaff/internal/policy/language"
)

// TestPassIsRefusedForWhatNoPolicyMayPass, with the reason, at load.
func TestPassIsRefusedForWhatNoPolicyMayPass(t *testing.T) {
	for name, want := range map[string]string{
		"JAVA_HOME":      "",
		"NPM_*":          "",
		"*_URL":          "",
		"DATABASE_URL":   "",
		"LD_PRELOAD":     "LD_PRELOAD cannot be passed on: it is the loader's",
		"LD_*":           "LD_* cannot be passed on: it is the loader's",
		"LD_FUTURE":      "cannot be passed on: it is the loader's",
		"DYLD_X":         "cannot be passed on: it is the loader's",
		"L*":             "L* takes in LD_PRELOAD, which cannot be passed on",
		"*_PATH":         "*_PATH takes in LD_LIBRARY_PATH",
		"*":              "passes every variable on",
		"**":             "passes every variable on",
		"BASH_ENV":       "code would run in every program or shell",
		"BASH_FUNC_x%%":  "code would run in every program or shell",
		"TIPSTAFF_TOKEN": "the server's own configuration",
		"PATH":           "the server sets it itself",
		"CAWS_TASK_ID":   "the server sets it itself",
		"A B":            "is not the name of a variable",
		"A=b":            "is not the name of a variable",
	} {
		for _, text := range []string{
			"version: 1\nenvironment: {pass: [\"" + name + "\"]}\n",
			"version: 1\ncommands:\n  ls: {allow: [\"*\"], environment: {pass: [\"" + name + "\"]}}\n",
		} {
			_, err := language.Load([]byte(text), "p.yaml", language.Options{Split: split})
			switch {
			case want == "" && err != nil:
				t.Errorf("%s: %v", name, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestAPatternNeverPassesTheLoaders, however wide it is.
func TestAPatternNeverPassesTheLoaders(t *testing.T) {
	p, err := language.Load([]byte("version: 1\nenvironment: {pass: [\"*_X\", \"T*\"]}\ncommands:\n  ls: {allow: [\"*\"]}\n"), "p.yaml", language.Options{Split: split})
	if err != nil {
		t.Fatal(err)
	}
	b := p.Bounds("ls", language.Who{})
	for name, want := range map[string]bool{"MY_X": true, "LD_X": false, "DYLD_X": false, "TIPSTAFF_TOKEN": false, "TERMINAL_X": false, "TOKEN": true, "MY_Y": false} {
		if b.Passes(name) != want || p.PassesSome(name) != want {
			t.Errorf("%s: %v, %v, want %v", name, b.Passes(name), p.PassesSome(name), want)
		}
	}
	if (&language.Bounds{}).Passes("MY_X") {
		t.Error("bounds of nothing pass a variable on")
	}
}
