package gitconfig

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/verdicts.txt anew, from git help -c")

const verdictsFile = "testdata/verdicts.txt"

func TestTheTableOfKeysCanBeRead(t *testing.T) {
	t.Parallel()
	if n := len(rows()); n < 200 {
		t.Errorf("keys.txt has %d patterns", n)
	}
	for _, text := range []string{"a.b  -", "a.b  -  ", "a.b  <nonsense>  x", "a.b  |true  x", "a  -  x", "a.b.c  -  x", "a.*.*.b  -  x", "a.  -  x", "a.b  -  x\nA.B  <bool>  y"} {
		if _, err := readRows(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// verdict gives keys.txt's word on a key that git help -c lists.
func verdict(key string) (values, why string, ok bool) {
	section, name := key[:strings.IndexByte(key, '.')], key[strings.LastIndexByte(key, '.')+1:]
	if strings.ContainsAny(name, "<*") { // every name
		name = "*"
	}
	e := &Entry{Section: strings.ToLower(section), HasSub: strings.Count(key, ".") > 1, Name: strings.ToLower(name)}
	row := rowOf(e)
	if row == nil {
		return "", "", false
	}
	words := []string{}
	for _, w := range row.values {
		words = append(words, w.word)
	}
	if len(words) == 0 {
		words = []string{"-"}
	}
	return strings.Join(words, "|"), row.why, true
}

// keysOfGit are those that the installed git knows.
func keysOfGit(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "help", "-c")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "LC_ALL=C", "GIT_PAGER=cat"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git help -c: %v", err)
	}
	var keys []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.Contains(line, ".") && !strings.Contains(line, " ") {
			keys = append(keys, line)
		}
	}
	return keys
}

// TestEveryKeyThatGitKnowsIsDecided: a key of a git that is newer than the list
// needs a row in keys.txt as well.
func TestEveryKeyThatGitKnowsIsDecided(t *testing.T) {
	keys := keysOfGit(t)
	if len(keys) < 500 {
		t.Fatalf("git help -c lists %d keys", len(keys))
	}
	for _, key := range keys {
		if _, _, ok := verdict(key); !ok {
			t.Errorf("%s: read git-config(1), then give it a row in keys.txt", key)
		}
	}
	if *update {
		var b strings.Builder
		b.WriteString("# What keys.txt says of every key that git 2.39.5 lists: key, values, why.\n")
		for _, key := range keys {
			values, why, _ := verdict(key)
			fmt.Fprintf(&b, "%s  %s  %s\n", key, values, why)
		}
		if err := os.WriteFile(verdictsFile, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheVerdictsOnAllKeysAreTheseAndNoOthers(t *testing.T) {
	text, err := os.ReadFile(verdictsFile)
	if err != nil {
		t.Fatal(err)
	}
	n, harmless := 0, 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, want, _ := strings.Cut(line, "  ")
		values, why, _ := verdict(key)
		if got := values + "  " + why; got != want {
			t.Errorf("%s: %s\nthe list says: %s", key, got, want)
		}
		n++
		if values != "-" {
			harmless++
		}
	}
	t.Logf("%d of %d keys may be set", harmless, n)
}

// TestKeysThatNameProgramsAreRefused holds the list to what git-config(1) says in
// its own words: a key whose description speaks of a command, a program or a
// hook has no free value.
func TestKeysThatNameProgramsAreRefused(t *testing.T) {
	t.Parallel()
	suspicious := regexp.MustCompile(`(?i)(command|cmd|program|editor|pager|hook|driver|helper|textconv|external|tool|template|proxy|path|file|dir|tunnel|insteadof|include|smudge|clean|process|askpass|vcs|uploadpack|receivepack|alias|credential|signers|cookie|header|sslverify|format)`)
	free := []string{"<text>", "<line>", "<plain>"}
	var open []string
	for p, row := range rows() {
		if slices.ContainsFunc(row.values, func(w rule) bool { return slices.Contains(free, w.word) }) && suspicious.MatchString(p.section+"."+p.name) {
			open = append(open, row.key)
		}
	}
	slices.Sort(open)
	// A file of names of objects, and three that only sound like it.
	if want := []string{"blame.ignoreRevsFile", "diff.dirstat", "format.subjectPrefix", "lfs.fetchinclude"}; !slices.Equal(slices.Compact(open), want) {
		t.Errorf("free values have %q, not only %q", open, want)
	}
}
