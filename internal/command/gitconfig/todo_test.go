package gitconfig_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tipstaff/internal/command/gitconfig"
)

// TestALineOfARebaseThatIsACommandIsFound: real git runs each line, or does not.
func TestALineOfARebaseThatIsACommandIsFound(t *testing.T) {
	for i, c := range []struct {
		line  string
		runs  bool // git runs the command
		found bool
	}{
		{"exec HERE/ran", true, true},
		{"x HERE/ran", true, true},
		{"x\tHERE/ran", true, true},
		{" \t exec \t HERE/ran", true, true},
		{"noop\nexec HERE/ran\r", true, true},
		{"# exec HERE/ran", false, false},
		{"#\nnoop", false, false},
		{"break", false, false},
		{"b\n", false, false},
		{"label a\nreset a\nmerge a\nupdate-ref refs/heads/x\n", false, false},
		{"; exec HERE/ran", false, false},
		{"Exec HERE/ran", false, true},
		{"xHERE/ran", false, true},
		{"executable", false, true},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, "")
			p.WriteProgram("ran", "#!/bin/sh\n: >"+p.Root+"/RAN\n")
			text := strings.ReplaceAll(c.line, "HERE", p.Root) + "\n"
			p.Write("list", text)
			p.run(".", "git init -q repo; cd repo; git commit -q --allow-empty -m a; git commit -q --allow-empty -m b")
			out, _ := p.try("repo", "GIT_SEQUENCE_EDITOR='cat ../list >' git rebase -i HEAD~1")
			_, err := os.Stat(p.At("RAN"))
			if ran := err == nil; ran != c.runs {
				t.Errorf("%q: git runs it: %t\n%s", c.line, ran, out)
			}
			if found := gitconfig.Todo([]byte(text)); (len(found) > 0) != c.found {
				t.Errorf("%q: %v", c.line, found)
			}
		})
	}
}

func TestAnHonestListHasNothingAndALongOneIsRefused(t *testing.T) {
	list := "pick 1 a\np 2 b\nreword 3\ne 4\nfixup -C 5\nsquash 6\nlabel x\nreset onto\nmerge -C 7 x # y\nupdate-ref refs/heads/a\ndrop 8\nrevert 9\nnoop\nbreak\n\n# Commands:\n# x, exec <command>\n"
	if found := gitconfig.Todo([]byte(list)); len(found) > 0 {
		t.Error(found)
	}
	found := gitconfig.Todo([]byte(list + "exec make test"))
	if len(found) != 1 || !strings.Contains(found[0].String(), `line 18 of the rebase's list is a command: git rebase --continue runs "make test"`) {
		t.Error(found)
	}
	if found := gitconfig.Todo(make([]byte, 17<<20)); len(found) != 1 {
		t.Error(found)
	}
}
