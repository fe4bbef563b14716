package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryProgramIsUsedByATest: a program that no test uses shows
// nothing. Those of the package comment are to be run by a test of another
// package; the rest are parts of them.
func TestEveryProgramIsUsedByATest(t *testing.T) {
	page := read(t, "main.go")
	elsewhere := testsElsewhere(t)
	for _, p := range programs() {
		listed := regexp.MustCompile(`(?m)^//\t` + regexp.QuoteMeta(p.name) + `( |$)`).MatchString(page)
		switch {
		case listed && !runs(p.name).MatchString(elsewhere):
			t.Errorf("no test outside of this package runs testcmd %s", p.name)
		case !listed && !regexp.MustCompile(`again\(.*"`+regexp.QuoteMeta(p.name)+`"`).MatchString(read(t, "family_unix.go")):
			t.Errorf("%s is neither in the package comment nor part of another program", p.name)
		}
	}
	if runs("no-such-program").MatchString(elsewhere) {
		t.Error("every search succeeds: the test shows nothing")
	}
}

// runs matches how tests name a program that they run: "testcmd cwd",
// "testcmd", "cwd", "testcmd", []string{"cwd"}, "testcmd", "args":
// []string{"cwd"}; and launch(t, "cwd") of internal/proc.
func runs(name string) *regexp.Regexp {
	name = regexp.QuoteMeta(name)
	return regexp.MustCompile(`testcmd\W+(args\W+)?(\[\]string\W+)?` + name + `["' ]|launch\(t, "` + name + `"`)
}

// testsElsewhere is the text of all tests of the module but those of this package, and of
// their scripts.
func testsElsewhere(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	root := filepath.Join("..", "..", "..")
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal("this is not where the module is: ", err)
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || path == filepath.Join(root, "internal", "testing", "testcmd")):
			return fs.SkipDir
		case !d.IsDir() && (strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".txtar")):
			all.WriteString(read(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
