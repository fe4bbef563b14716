//go:build !race

package archtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what documents take from the files of this package, and lower the core's budget")

const top = "../../.."

func TestSecurityListsTheTrustedCore(t *testing.T) {
	compareSection(t, "SECURITY.md", "core", CoreTable(readCore(t)))
}

// An attack that no package stops, or one that was moved, would leave the reader of the
// table with a promise that nobody keeps.
func TestPackagesThatStopAttacksExist(t *testing.T) {
	_, text, found := strings.Cut(readText(t, "SECURITY.md"), "\n## What stops each attack\n")
	if !found {
		t.Fatal("SECURITY.md has no table of attacks")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	named := regexp.MustCompile("`((?:internal|cmd)/[^`]*)`")
	rows := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| attack ") {
			continue
		}
		rows++
		packages := named.FindAllStringSubmatch(line, -1)
		if len(packages) == 0 {
			t.Errorf("no package stops this attack: %s", line)
		}
		for _, m := range packages {
			if files, _ := filepath.Glob(filepath.Join(top, m[1], "*.go")); len(files) == 0 {
				t.Errorf("%s is no package: %s", m[1], line)
			}
		}
	}
	if rows < 20 {
		t.Errorf("SECURITY.md has %d attacks in its table", rows)
	}
}

// The budget goes down with the core, so that what was won is not lost again.
func TestTheCoreCountsItsLinesAsMakeLinesDoes(t *testing.T) {
	here, there := readText(t, "internal/testing/archtest/count.go"), readText(t, "tools/lines/count.go")
	if strings.Replace(there, "package main", "package archtest", 1) != here {
		t.Error("count.go differs from tools/lines/count.go in more than the name of its package")
	}
	if !*update {
		return
	}
	core, tree := readCore(t), os.DirFS(top)
	files, err := ReadTree(tree)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := core.Lines(tree, files)
	if err != nil {
		t.Fatal(err)
	}
	if sum < core.Budget {
		const name = "internal/testing/archtest/core.txt"
		writeText(t, name, strings.Replace(readText(t, name), fmt.Sprintf("\n  %d\n", core.Budget), fmt.Sprintf("\n  %d\n", sum), 1))
	}
}

func readCore(t *testing.T) *Core {
	t.Helper()
	core, err := ParseCore(readText(t, "internal/testing/archtest/core.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return core
}

// compareSection holds a section of a document to its text, or writes it there.
func compareSection(t *testing.T, document, name, text string) {
	t.Helper()
	is := readText(t, document)
	want, err := Written(is, name, text)
	switch {
	case err != nil:
		t.Fatalf("%s: %v", document, err)
	case *update:
		writeText(t, document, want)
	case is != want:
		t.Errorf("the section %q of %s is out of date; run 'go test ./internal/testing/archtest -update'", name, document)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
