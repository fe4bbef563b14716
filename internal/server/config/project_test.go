package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNoServerStumblesOverAVariableOfTheProject goes over what this project itself sets
// or reads in environments (its tests, CI, packages, deployments): a server that inherits
// it must start.
func TestNoServerStumblesOverAVariableOfTheProject(t *testing.T) {
	const top = "../../.."
	if _, err := os.Stat(filepath.Join(top, "Makefile")); err != nil {
		t.Skipf("the sources are not here: %v", err)
	}
	inGo := regexp.MustCompile(`(?:Getenv|LookupEnv|Setenv)\("(TIPSTAFF_\w+)"`)
	inNode := regexp.MustCompile(`process\.env\.(TIPSTAFF_\w+)`)
	elsewhere := regexp.MustCompile(`\b(TIPSTAFF_[A-Z_]*[A-Z])\b`)
	found := map[string]string{}
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		in, _ := filepath.Rel(top, path)
		if entry.IsDir() {
			switch entry.Name() {
			case ".git", "node_modules", "testdata":
				return filepath.SkipDir
			}
			return nil
		}
		name := elsewhere
		switch ext := filepath.Ext(in); {
		case ext == ".go":
			name = inGo
		case ext == ".mjs":
			name = inNode
		case in != "Makefile" && !strings.HasPrefix(in, ".ci/") && !strings.HasPrefix(in, "deploy/") && !strings.HasPrefix(in, "packaging/"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range name.FindAllSubmatch(text, -1) {
			found[string(m[1])] = in
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{"TIPSTAFF_LONG", "TIPSTAFF_FAULTS", "TIPSTAFF_BIN", "TIPSTAFF_STATE_DIR"} {
		if found[one] == "" {
			t.Errorf("%s was not found; has the way changed in which variables are read?", one)
		}
	}
	for name, in := range found {
		if len(Unknown([]string{name + "=1"})) > 0 {
			t.Errorf("%s, which is in %s, stops a server: it is a setting, or of tests (ofTests in variables.go), or misspelt", name, in)
		}
	}
}
