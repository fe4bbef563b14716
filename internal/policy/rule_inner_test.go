package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tipstaff"
	"tipstaff/internal/policy"
)

// TestAListedProgramIsNoWayToStartAnother: wrappers and options, with the
// programs that are listed and what the caller is told.
func TestAListedProgramIsNoWayToStartAnother(t *testing.T) {
	for _, c := range []struct {
		says    string
		allowed string
		argv    []string
		want    string // a part of the refusal; "" when it may run
	}{
		{"a wrapper", "nohup", []string{"nohup", "rm"}, "Command 'rm' is not allowed | nohup would start it, so it must be allowed as well. Allowed: nohup."},
		{"a wrapper whose program is listed", "xargs ls", []string{"xargs", "-0", "ls"}, ""},
		{"wrappers in wrappers", "nice timeout env ls", []string{"nice", "-n", "5", "timeout", "-k1", "5", "env", "A=1", "ls", "-l"}, ""},
		{"a layer that is not listed", "nice ls", []string{"nice", "timeout", "5", "ls"}, "Command 'timeout' is not allowed | nice would start it"},
		{"the innermost is not listed", "nice timeout", []string{"nice", "timeout", "5", "rm"}, "Command 'rm' is not allowed | timeout would start it"},
		{"too many layers", "nice", []string{"nice", "nice", "nice", "nice", "nice", "nice", "nice", "nice", "nice", "nice"}, "one program that starts another too many"},
		{"an unknown option of a wrapper", "timeout ls", []string{"timeout", "--frobnicate", "5", "ls"}, `args[0] is not safe: "--frobnicate", an option of timeout that is not known here, so it cannot be told what it would start`},
		{"a wrapper without a command", "env", []string{"env"}, ""},
		{"a variable for one command", "env npm", []string{"env", "NODE_ENV=test", "npm", "test"}, ""},
		{"a variable that decides what runs", "env npm", []string{"env", "LD_PRELOAD=x.so", "npm", "test"}, `args[0] is not safe: "LD_PRELOAD=x.so", a variable that decides what runs`},
		{"another PATH", "env ls", []string{"env", "PATH=.", "ls"}, `"ls", which is in none of the directories of the PATH that env has`},
		{"a split string", "env ls", []string{"env", "-S", "ls -l", "x"}, ""},
		{"another program in a split string", "env ls", []string{"env", "-S", "rm x"}, "Command 'rm' is not allowed | env -S would start it"},
		{"a relative path in another directory", "env python3", []string{"env", "-C", "sub", ".venv/bin/python3"}, "Command '.venv/bin/python3' is not allowed"},
		{"input as arguments", "xargs git", []string{"xargs", "git", "add"}, ""},
		{"input as the name of a program", "xargs env", []string{"xargs", "env"}, `"env", which would take the name of a program from its input`},
		{"input put into the name of a program", "xargs env", []string{"xargs", "-I{}", "env", "{}"}, `"{}", whose name would come from the input of env`},
		{"words for a shell", "watch ls", []string{"watch", "-n", "2", "ls", "-l"}, ""},
		{"more than one command for a shell", "watch ls", []string{"watch", "-n2", "ls;rm"}, "watch would run it, and it is more than one plain command"},
		{"braces for a shell", "watch ls", []string{"watch", "ls {-a,x}"}, "watch would run it, and it is more than one plain command"},
		{"a home directory for a shell", "watch ls", []string{"watch", "ls ~/x"}, "watch would run it, and it is more than one plain command"},
		{"the same as text", "watch ls", []string{"watch", "ls '~/x' HEAD@{1}"}, ""},
		{"a shell by default", "script", []string{"script", "out"}, "the command is not safe: \"script\", without a command it starts a shell"},
		{"another root", "chroot ls", []string{"chroot", "/mnt", "ls"}, "it runs programs of another root"},
		{"later", "at", []string{"at", "now"}, "it runs commands later"},
		{"a multi-call program", "busybox ls", []string{"busybox", "ls"}, ""},
		{"another applet", "busybox ls", []string{"busybox", "sh"}, "Command 'sh' is not allowed | busybox would start it"},

		{"input as whole commands", "parallel", []string{"parallel", "-j4"}, "without a command it starts a shell"},
		{"a program with an = in its path", "sudo ls", []string{"sudo", "/tmp/a=b", "ls"}, "Command '/tmp/a=b' is not allowed"},
		{"a filter for each part", "split", []string{"split", "--fil=rm", "f"}, "Command 'rm' is not allowed | split --filter would start it"},
		{"a command behind -E", "cmake", []string{"cmake", "-E", "env", "A=1", "rm", "x"}, "Command 'rm' is not allowed | cmake env would start it"},
		{"a build", "cmake", []string{"cmake", "--build", "build", "--target", "test", "--", "-j4"}, ""},
		{"commands to measure", "hyperfine ls", []string{"hyperfine", "-w", "3", "ls -l", "rm x"}, "Command 'rm' is not allowed | hyperfine would start it"},

		{"find that starts what it could do itself", "find", []string{"find", ".", "-exec", "ls", "-l", "{}", ";"}, ""},
		{"find that starts another program", "find", []string{"find", ".", "-exec", "grep", "x", "{}", "+"}, "Command 'grep' is not allowed | find -exec would start it"},
		{"find that removes", "find", []string{"find", ".", "-delete"}, "Command 'rm' is not allowed | find -delete would start it"},
		{"find that removes where rm is listed", "find rm", []string{"find", ".", "-name", "*.tmp", "-delete"}, ""},
		{"find that starts what it finds", "find", []string{"find", ".", "-exec", "{}", ";"}, `"{}", whose name would come from the input of find -exec`},
		{"a name that looks like an option", "find", []string{"find", ".", "-name", "-delete"}, ""},

		{"git with a harmless setting", "git", []string{"git", "-c", "user.name=A B", "-c", "core.pager=cat", "log"}, ""},
		{"git with a setting that starts a program", "git", []string{"git", "-c", "core.editor=vim", "commit"}, "Command 'vim' is not allowed | git -c core.editor would start it"},
		{"git with a setting that nobody knows", "git", []string{"git", "-c", "new.thing=x", "log"}, `"new.thing=x", a setting that is not known to be harmless`},
		{"git with a setting from the environment", "git", []string{"git", "--config-env=alias.x=AX", "x"}, "which nobody sees here"},
		{"git with an alias of its own commands", "git", []string{"git", "config", "alias.lg", "log --graph --format='%h %s'; true"}, ""},
		{"git with an alias for a shell", "git", []string{"git", "config", "alias.x", "!rm -rf ."}, "Command 'rm' is not allowed | git config alias.x would start it"},
		{"git with an alias that sets", "git", []string{"git", "config", "--", "alias.x", "-c core.fsmonitor=evil status ;"}, "Command 'evil' is not allowed"},
		{"git with hooks of the workspace", "git", []string{"git", "config", "core.hooksPath", ".husky"}, ""},
		{"git with hooks from elsewhere", "git", []string{"git", "-c", "core.hooksPath=/tmp/x", "commit"}, "Command '/tmp/x' is not allowed"},
		{"git with an included file", "git", []string{"git", "-c", "include.path=evil.cfg", "status"}, "Command 'evil.cfg' is not allowed"},
		{"git that asks for a setting", "git", []string{"git", "config", "--get", "core.editor", "x"}, ""},
		{"the short form of an option", "git", []string{"git", "clone", "-u", "rm", "x"}, "Command 'rm' is not allowed | git clone -u would start it"},
		{"an abbreviated option", "git", []string{"git", "clone", "--upload-pa=rm", "x"}, "Command 'rm' is not allowed | git clone --upload-pack would start it"},
		{"the same letter elsewhere", "git", []string{"git", "push", "-u", "origin", "main"}, ""},
		{"another -c", "git", []string{"git", "switch", "-c", "release/1.4"}, ""},
		{"ssh as git starts it", "git", []string{"git", "-c", "core.sshCommand=ssh -i key", "fetch"}, ""},
		{"ssh as git does not", "git", []string{"git", "-c", "core.sshCommand=ssh -o ProxyCommand=rm", "fetch"}, "Command 'rm' is not allowed | ssh -o ProxyCommand would start it"},
		{"a command for every submodule", "git npm", []string{"git", "submodule", "foreach", "--recursive", "npm ci"}, ""},

		{"an option of tar in old style", "tar", []string{"tar", "cIf", "rm", "t", "x"}, "Command 'rm' is not allowed | tar -I would start it"},
		{"a compressor of tar", "tar", []string{"tar", "-I", "zstd -9", "-cf", "t", "x"}, ""},
		{"an action of tar", "tar", []string{"tar", "cf", "t", "x", "--checkpoint-action=exec=rm"}, `args[3] is not safe: "exec=rm", which makes tar start other programs`},
		{"an action of tar that only shows", "tar", []string{"tar", "cf", "t", "x", "--checkpoint-action=dot"}, ""},
		{"a preprocessor", "rg", []string{"rg", "--pre", "rm", "x"}, "Command 'rm' is not allowed | rg --pre would start it"},
		{"an option that begins like it", "rg", []string{"rg", "--pre-glob", "*.pdf", "x"}, ""},
		{"a browser glued to its option", "man", []string{"man", "-Hrm", "ls"}, "Command 'rm' is not allowed | man -H would start it"},
		{"a rule for make", "make", []string{"make", "--eval=x:;rm"}, `"--eval", an option of make that can start programs`},
		{"a shell for make", "make", []string{"make", "SHELL=/tmp/x"}, "it decides what make starts"},
		{"an option of a remote shell", "rsync", []string{"rsync", "-avze", "ssh -p 22", "a", "h:b"}, ""},
		{"another remote shell", "rsync", []string{"rsync", "-e", "rm", "a", "h:b"}, "Command 'rm' is not allowed | rsync -e would start it"},
		{"a setting of ssh in lower case", "ssh", []string{"ssh", "-oproxycommand=rm", "host"}, "Command 'rm' is not allowed"},
		{"a harmless setting of ssh", "ssh", []string{"ssh", "-o", "BatchMode=yes", "host", "uptime"}, ""},
		{"a runner for tests", "go", []string{"go", "test", "-exec", "rm", "."}, "Command 'rm' is not allowed | go test -exec would start it"},
		{"asking go for its settings", "go", []string{"go", "env", "GOPATH", "CC"}, ""},
		{"telling go a compiler", "go", []string{"go", "env", "-w", "CC=/tmp/x"}, "Command '/tmp/x' is not allowed"},
		{"static linking", "go", []string{"go", "build", "-ldflags", `-s -w -extldflags "-static"`}, ""},
		{"a script of sed", "sed", []string{"sed", "-i", "s/a/e/g;/x/d", "f"}, ""},
		{"a script of sed that runs", "sed", []string{"sed", "1e rm x", "f"}, `args[0] is not safe: "e rm x", which makes sed start other programs`},
		{"a program of awk", "awk", []string{"awk", "-F|", `/a|b/ && $3 > 1 || x {print $1 "|" $2}`, "f"}, ""},
		{"a program of awk that runs", "awk", []string{"awk", `{print | "rm x"}`, "f"}, "which makes awk start other programs"},
		{"a debugger and its commands", "gdb", []string{"gdb", "-batch", "-ex", "run", "-ex", "thread apply all bt", "--args", "./a", "x"}, ""},
		{"a debugger's shell", "gdb", []string{"gdb", "-batch", "-ex", "shell rm x"}, "which makes gdb start other programs"},
		{"a debugger's program", "gdb", []string{"gdb", "-batch", "-ex", "run", "--args", "rm", "x"}, "Command 'rm' is not allowed | gdb would start it"},
		{"a program of the workspace under valgrind", "valgrind", []string{"valgrind", "--leak-check=full", "./a"}, ""},
		{"a program of the system under valgrind", "valgrind", []string{"valgrind", "rm", "x"}, "Command 'rm' is not allowed"},
		{"tables of a database", "sqlite3", []string{"sqlite3", "app.db", ".tables"}, ""},
		{"a database's shell", "sqlite3", []string{"sqlite3", "app.db", ".sh rm x"}, "which makes sqlite3 start other programs"},

		{"a program of the project", "npx", []string{"npx", "eslint", "-c", "x"}, ""},
		{"a program of the system by a project's tool", "poetry", []string{"poetry", "run", "rm", "x"}, "Command 'rm' is not allowed | poetry run would start it"},
		{"a wrapper by a project's tool", "npx", []string{"npx", "env", "rm"}, "Command 'env' is not allowed"},
		{"a shell string", "npm", []string{"npm", "exec", "-c", "rm"}, "Command 'rm' is not allowed | npm exec -c would start it"},
		{"a command of another registry", "npm", []string{"npm", "config", "set", "registry", "https://r.test"}, ""},
		{"a shell for scripts", "npm", []string{"npm", "config", "set", "script-shell=/tmp/x"}, "Command '/tmp/x' is not allowed"},
	} {
		t.Run(c.says, func(t *testing.T) {
			w := allowing(strings.Fields(c.allowed)...)
			w.files = map[string]string{"/work/sub/.venv/bin/python3": "python3", "/work/.venv/bin/python3": "python3"}
			d := withoutArguments(decide(t, w, terminal(c.argv...)))
			if got := answer(d); c.want == "" && got != "allowed" || !strings.Contains(got, c.want) {
				t.Errorf("%q\n got %s\nwant %s", c.argv, got, c.want)
			}
		})
	}
}

// TestB13AnInnerProgramIsNamed: details name the program that is not allowed.
func TestB13AnInnerProgramIsNamed(t *testing.T) {
	d := decide(t, allowing("nice", "timeout"), terminal("nice", "timeout", "5", "rm"))
	want := map[string]any{"command": "rm", "allowedCommands": []string{"nice", "timeout"}}
	if diff := cmp.Diff(want, d.Deciding().Details); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Deciding().Code != tipstaff.CommandNotAllowed {
		t.Error(answer(d))
	}
}

// TestAStarStartsEverything: where every program is allowed, so are those that
// others start.
func TestAStarStartsEverything(t *testing.T) {
	w := allowing()
	w.allowed[tipstaff.Terminal] = policy.Allowlist{Any: true}
	if d := decide(t, w, terminal("nice", "rm", "x")); d.Effect != policy.Allow {
		t.Error(answer(d))
	}
}

// TestB10OffKeepsStructuralChecksOnly: if arguments are not judged, the
// programs that they start are not judged either.
func TestB10OffKeepsStructuralChecksOnly(t *testing.T) {
	settings := server()
	settings.Arguments = policy.ArgumentsOff
	d := policy.New(settings).Decide(terminal("nice", "rm", "x"), allowing("nice"))
	if d.Effect != policy.Allow {
		t.Error(answer(d))
	}
}

// TestTheExecuteFamilyIsNotUnwrapped: contract A6 compares the first word only.
func TestTheExecuteFamilyIsNotUnwrapped(t *testing.T) {
	if d := decide(t, allowing("nice"), execute("nice ls")); d.Effect != policy.Allow {
		t.Error(answer(d))
	}
}
