package policy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff"
	"tipstaff/internal/policy"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

// TestB10StructureOfBothFamilies: what no program could be given is refused in
// both families, in every mode for contents.
func TestB10StructureOfBothFamilies(t *testing.T) {
	many := func(n int, word string) []string {
		return append([]string{"echo"}, slices.Repeat([]string{word}, n)...)
	}
	for _, c := range []struct {
		says string
		argv []string
		want string // "" when it may run
	}{
		{"an argument of 131071 bytes", []string{"echo", strings.Repeat("x", 131_071)}, ""},
		{"an argument of one byte more", []string{"echo", "a", strings.Repeat("x", 131_072)}, "INVALID_PARAMETERS: args[1] has 131072 bytes, at most 131071 are allowed | Put long text in a file"},
		{"4096 arguments", many(4096, "x"), ""},
		{"4097 arguments", many(4097, "x"), "INVALID_PARAMETERS: there are 4097 arguments, at most 4096 are allowed | Put long text in a file"},
		{"a hundred thousand arguments", many(100_000, "x"), "INVALID_PARAMETERS: there are 100000 arguments"},
		{"a megabyte together", many(16, strings.Repeat("x", 65_535)), ""},
		{"more than a megabyte together", many(17, strings.Repeat("x", 65_535)), "INVALID_PARAMETERS: the command has 1114099 bytes in all, at most 1048576 are allowed | Put long text in a file"},
		{"NUL in an argument", []string{"echo", "a\x00b"}, "UNSAFE_ARGUMENTS: args[0] contains a NUL character | No program can be given one."},
		{"malformed UTF-8", []string{"echo", "ok", "\xff"}, "UNSAFE_ARGUMENTS: args[1] is not valid UTF-8 | Send text as UTF-8"},
		{"empty arguments", []string{"echo", "", ""}, ""},
	} {
		t.Run(c.says, func(t *testing.T) {
			for _, family := range []tipstaff.Family{tipstaff.Execute, tipstaff.Terminal} {
				settings := server()
				settings.Arguments = policy.ArgumentsOff
				d := policy.New(settings).Decide(tipstaff.Request{Family: family, Argv: c.argv}, allowing("echo"))
				if got := answer(d); got != "allowed" && c.want == "" || !strings.HasPrefix(got, c.want) {
					t.Errorf("%s: %s", family, got)
				}
			}
		})
	}
}

// TestTheEmptyNameIsNobodysCommand: neither an empty entry nor * allows it.
func TestTheEmptyNameIsNobodysCommand(t *testing.T) {
	for _, list := range []policy.Allowlist{
		{Names: []string{"", "ls"}}, {Any: true}, policy.ParseAllowlist("ls,,*", "ALLOWED_COMMANDS"),
	} {
		w := allowing()
		w.allowed[tipstaff.Execute] = list
		for _, req := range []tipstaff.Request{execute("'' a"), {Family: tipstaff.Execute, Argv: []string{""}}, {Family: tipstaff.Execute, Argv: []string{}}} {
			if d := decide(t, w, req); d.Effect != policy.Deny {
				t.Errorf("%+v: %q %q may run", list, req.Line, req.Argv)
			}
		}
	}
}

func TestStructureNamesTheArgumentForPrograms(t *testing.T) {
	d := decide(t, allowing("echo"), terminal("echo", "a", "b\x00"))
	f := d.Deciding()
	if f.Rule != "structure/nul" || f.Details["index"] != 1 || f.Details["rule"] != "nul" {
		t.Errorf("rule %s, details %v", f.Rule, f.Details)
	}
}

// TestT7HostileLengthsAreJudgedInProportion: arguments of the greatest length,
// and longer ones, in forms for which a careless parser starts again and again.
func TestT7HostileLengthsAreJudgedInProportion(t *testing.T) {
	fill := func(n int, part string) string { return strings.Repeat(part, n/len(part)) }
	took := testcmdtest.ProcessorTime(t, func() {
		for _, n := range []int{131_071} {
			for _, part := range []string{";", "; ", " & ", "&date", "x&date", "|make", "`", "``x", "$(", "<(", "\n", "(", "; A=1 ", "; do ", " ", "[[:x", "s/a/b/;", "/x/,", "\"", "\\", "{}", "a\\\n", "://&id "} {
				for _, program := range []string{"echo", "sed", "awk", "git", "watch", "sqlite3", "gdb"} {
					decide(t, allowing(program), terminal(program, fill(n, part)+fill(n/8, " ")))
				}
				decide(t, allowing("ls"), execute("ls "+fill(n, part)))
			}
		}
		for _, words := range [][]string{{"git", "config", "a.b"}, {"find", "-exec", "a", ";"}, {"npx", "-p", "x"}, {"env", "-S", "nice"}, {"grep", "-e", ";"}} {
			decide(t, allowing(words[0]), terminal(append(words, slices.Repeat(words[1:], 30_000)...)...))
		}
	})
	if took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
