package policy_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/policy"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// tried is a real program with words for its command line, which
// FuzzAllowedNeverStartsEvil combines. · is a blank inside a word, ¶ a line
// end.
type tried struct {
	program string
	words   string
}

func triedPrograms() []tried {
	const inner = " good evil ./evil -- x good·a evil·a"
	return []tried{
		{"env", "-i -u X -C . -S A=1 - -v --unset=Q --chdir=. -iS -uX --split-string=evil --s=evil PATH=. -C. -S-S·evil" + inner},
		{"nice", "-n 5 -5 --adjustment=3 -n5 --adj 4" + inner},
		{"timeout", "-k 1 -s TERM --foreground --preserve-status 5 -v -k1 --sig=TERM" + inner},
		{"stdbuf", "-oL -o L --output=L -i 0 -e0" + inner},
		{"time", "-p -f %e -o out -a -v --format=x -oout" + inner},
		{"ionice", "-c 3 -n 4 -t -c3" + inner},
		{"taskset", "-c 0 1 -a 0x1" + inner},
		{"chrt", "-o 0 -b -i -R -v" + inner},
		{"setsid", "-w -f -wf" + inner},
		{"nohup", "" + inner},
		{"flock", "lock -c -n -w 1 -x -F -o --command=evil -nc --com" + inner},
		{"script", "-q -c out -a -e -f -qc --command=evil -cevil -cgood --comm -O" + inner},
		{"strace", "-o out -f -e trace=none -s 5 -E A=1 -fo |evil -o|evil !evil -qq -u root" + inner},
		{"unshare", "-r -f -m -w . --wd=. -fr" + inner},
		{"setarch", "x86_64 -R linux64 -v --list" + inner},
		{"prlimit", "--nofile=50 -n50 -n -c --core=1 -v" + inner},
		{"xargs", "-n 1 -I {} -i -t -0 -a list -L -r -i{} -I{} evi l good evilgood -P1 env nice --replace" + inner},
		{"find", ". -maxdepth 0 -exec -execdir -ok ; + {} -name -o -print ( ) good{}" + inner},
		{"tar", "-I -cf t . list cf cIf -cIgood -cIevil --use-compress-program=evil --use-c=evil --u good --checkpoint=1 --checkpoint-action=exec=evil --to-command=evil -xf a.tar -F -M -L 1 --rsh-command=evil h:x --rs=evil --info=evil" + inner},
		{"sort", "-S 1b --compress-program=evil --comp=evil --c evil big big -T ." + inner},
		{"sed", "-n -e -f -i -s list --expression=e·evil --exp 1e·evil s/x/evil/e s/[/]/x/;e·evil s,x,[,e;s/]//e s/x/y/;p y/ab/cd/;e·evil a\\\ne·evil /[[:alpha:]/]/e·evil s/a\\/b/c/;e·evil :a;e·evil b;e·evil a·x;e·evil #\ne·evil $!N;e·evil \\,x,e·evil {e·evil\n} w·out;e·evil" + inner},
		{"awk", "-f -v a=1 -F , list BEGIN{system(\"evil\")} BEGIN{\"evil\"|getline} BEGIN{print|\"evil\"} {print·$1} /x|y/{print} BEGIN{x=1/system(\"evil\")/2} BEGIN{x=1·\\\n/system(\"evil\")/2} BEGIN{print·\"system(\"}#| a||b BEGIN{if(1)/x/;system(\"evil\")}" + inner},
		{"git", "-c alias.x=!evil x alias.y=grep·-Oevil·a y -C . grep -Oevil -O evil --open-files-in-pager=evil --op=evil a difftool -y -x core.pager=evil core.fsmonitor=evil status log -p --exec-path=. --config-env=alias.x=EV core.quotepath=off submodule foreach bisect run rebase --exec=evil -xevil HEAD diff.external=evil diff --ext-diff ls-remote --upload-pack=evil --upl=evil config alias.x !evil clone -u r" + inner},
		{"make", "-f list --eval=x:;evil --ev x:;evil SHELL=./evil X!=evil -C . -n -E SHELL:=./evil SHELL?=./evil" + inner},
	}
}

// FuzzAllowedNeverStartsEvil: a command line that is allowed is run for real,
// where "good" is listed and "evil" is not, and evil must not have run.
func FuzzAllowedNeverStartsEvil(f *testing.F) {
	all := triedPrograms()
	for i := range all {
		for j := range 8 {
			f.Add([]byte{byte(i), byte(j), byte(j + 1), byte(3 * j)})
		}
	}
	stage := newStage(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 || len(data) > 10 {
			return
		}
		try := all[int(data[0])%len(all)]
		path, err := exec.LookPath("/usr/bin/" + try.program)
		if err != nil {
			t.Skip("no " + try.program)
		}
		argv := []string{try.program}
		words := strings.Fields(try.words)
		for _, b := range data[1:] {
			word := words[int(b)%len(words)]
			argv = append(argv, strings.NewReplacer("·", " ", "¶", "\n").Replace(word))
		}
		if mayRun(argv) && stage.runsEvil(t, path, argv) {
			t.Errorf("%q was allowed and started evil", argv)
		}
	})
}

// mayRun applies only the rule "inner"; other faults of arguments are for other
// rules.
func mayRun(argv []string) bool {
	d := policy.New(server()).Decide(terminal(argv...), allowing(argv[0], "good"))
	if grant, ok := d.Grant(); ok {
		grant.Close()
	}
	return withoutArguments(d).Effect == policy.Allow
}

// withoutArguments is a decision as it would be without the rule "arguments".
func withoutArguments(d policy.Decision) policy.Decision {
	d.Findings = slices.DeleteFunc(slices.Clone(d.Findings), func(f policy.Finding) bool { return strings.HasPrefix(f.Rule, "arguments/") })
	d.Effect = d.Deciding().Effect
	return d
}

// TestWhatStartsEvilIsRefused: command lines that do start evil on this
// machine, at least one for each way. It shows that the fuzz test would notice.
func TestWhatStartsEvilIsRefused(t *testing.T) {
	stage := newStage(t)
	for _, argv := range [][]string{
		{"env", "evil"}, {"env", "-S", "evil a"}, {"env", "-i", "PATH=" + stage.bin, "evil"},
		{"nice", "-5", "evil"}, {"timeout", "-k", "1", "5", "evil"}, {"stdbuf", "-oL", "evil"}, {"time", "-p", "evil"},
		{"ionice", "-c3", "evil"}, {"taskset", "1", "evil"}, {"chrt", "-o", "0", "evil"}, {"setsid", "-w", "evil"}, {"nohup", "evil"},
		{"flock", "lock", "evil"}, {"flock", "lock", "-c", "evil"}, {"script", "-qc", "evil", "out"}, {"script", "out"},
		{"setarch", "-R", "evil"}, {"prlimit", "--nofile=50", "evil"}, {"unshare", "-r", "evil"},
		{"xargs", "evil"}, {"xargs", "-I", "good", "good"}, {"xargs", "nice"}, {"xargs", "-I{}", "env", "{}"},
		{"find", ".", "-maxdepth", "0", "-exec", "evil", ";"}, {"find", ".", "-maxdepth", "0", "-execdir", "evil", "{}", "+"}, {"find", "evil", "-exec", "{}", ";"},
		{"nice", "timeout", "5", "env", "A=1", "evil"},
		{"tar", "-I", "evil", "-cf", "t", "list"}, {"tar", "cIf", "evil", "t", "list"}, {"tar", "-cf", "t", "list", "--use-c=evil"},
		{"tar", "cf", "t", "list", "--checkpoint=1", "--checkpoint-action=exec=evil"}, {"tar", "-cIevil", "-f", "t", "list"},
		{"sort", "-S", "1b", "--comp=evil", "big"}, {"make", "--eval=x:;evil"}, {"make", "-f", "/dev/null", "X!=evil", "$(X)"},
		{"sed", "1e evil", "list"}, {"sed", "-n", "-e", "s,x,[,e;s/]//e", "list"}, {"sed", "s/[/]/x/;e evil", "list"}, {"sed", "s/.*/evil/e", "list"},
		{"awk", `BEGIN{system("evil")}`}, {"awk", `BEGIN{"evil"|getline}`}, {"awk", "BEGIN{x=1 \\\n/system(\"evil\")/2}"},
		{"git", "-c", "alias.x=!evil", "x"}, {"git", "--config-env=alias.x=EV", "x"}, {"git", "-c", "alias.x=grep -Oevil x", "x"}, {"git", "grep", "-Oevil", "x"},
		{"git", "difftool", "-y", "-x", "evil", "--no-index", "list", "big"}, {"git", "ls-remote", "--upl=evil", "r"}, {"git", "-c", "core.fsmonitor=evil", "status"},
	} {
		path, err := exec.LookPath("/usr/bin/" + argv[0])
		if err != nil {
			continue // it does not work on this machine
		}
		if !stage.runsEvil(t, path, argv) {
			t.Logf("%q does not start evil on this machine", argv)
		}
		if mayRun(argv) {
			t.Errorf("%q was allowed", argv)
		}
	}
}

// stage is a PATH with the programs good and evil.
type stage struct{ bin, mark, evil string }

func newStage(t testing.TB) stage {
	t.Helper()
	dir := t.TempDir()
	s := stage{bin: filepath.Join(dir, "bin"), mark: filepath.Join(dir, "evil-ran")}
	s.evil = "#!/bin/sh\n: > " + s.mark + "\n"
	if err := os.Mkdir(s.bin, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"good": "#!/bin/sh\nexit 0\n", "evil": s.evil} {
		testcmdtest.WriteProgram(t, filepath.Join(s.bin, name), text)
	}
	return s
}

// runsEvil runs a command line in a directory of its own and reports whether
// it started evil.
func (s stage) runsEvil(t *testing.T, path string, argv []string) bool {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"evil": s.evil, "list": "x\nevil\n", "big": strings.Repeat("b\na\n", 2000),
	} {
		testcmdtest.WriteProgram(t, filepath.Join(dir, name), text)
	}
	env := []string{"PATH=" + s.bin + ":/usr/bin:/bin", "HOME=" + dir, "SHELL=/bin/sh", "EV=!evil", "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat", "EDITOR=:", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"}
	run := func(stdin string, argv ...string) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdin = dir, env, strings.NewReader(stdin)
		cmd.WaitDelay = time.Second
		_ = cmd.Run() // most of these command lines are nonsense
	}
	if argv[0] == "git" {
		run("", "/usr/bin/git", "init", "-q")
		run("", "/usr/bin/git", "add", "list")
		run("", "/usr/bin/git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")
		run("", "/usr/bin/git", "init", "-q", "--bare", "r")
	}
	run("evil\n", append([]string{path}, argv[1:]...)...)
	if _, err := os.Stat(s.mark); err != nil {
		return false
	}
	_ = os.Remove(s.mark)
	return true
}
