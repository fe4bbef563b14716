//go:build linux

package interp_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"tipstaff/internal/script/interp"
)

// inBash is what real bash prints for a script.
func inBash(t *testing.T, text string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c", text).Output()
	if err != nil {
		t.Fatalf("bash: %v\n%s", err, text)
	}
	return string(out)
}

// TestFunctionsArePrintedAsBashPrintsThem, one table line for each body.
func TestFunctionsArePrintedAsBashPrintsThem(t *testing.T) {
	for body := range strings.SplitSeq(strings.TrimSpace(bodies), "\n") {
		text := "f() { " + body + "\n}\ndeclare -f f; declare -pf f; type f; declare -f"
		if r, want := run(t, text, nil), inBash(t, text); r.out != want {
			t.Errorf("%s\nprints %s\nwant   %s\n%s", body, r.out, want, r.err)
		}
	}
	for _, f := range []string{"f() ( a; b )", "function f { a; }", "f() { a; } > x 2>&1"} {
		text := f + "; declare -f f"
		if r, want := run(t, text, nil), inBash(t, text); r.out != want {
			t.Errorf("%s\nprints %s\nwant   %s\n%s", f, r.out, want, r.err)
		}
	}
}

// TestAFunctionWhoseTextIsNotCertainIsRefused by name and column.
func TestAFunctionWhoseTextIsNotCertainIsRefused(t *testing.T) {
	for body, why := range map[string]string{
		"echo $((1 +2))": "$(( )) (1:12)", "((x=1))": "(( )) (1:7)", "echo `a`": "a substitution like this", "cat <<X\nhi\nX": "a here-document (1:11)",
		"echo $'a'": "$' '", "for ((;;)); do a; done": "a loop like this (1:7)", "echo $(if a; then b; fi)": "a compound command in a substitution", "> x": "without words",
	} {
		r := run(t, "f() { "+body+"\n}; declare -f f; echo on", nil)
		if r.out != "" || r.Code != 2 || !strings.Contains(r.err, why) {
			t.Errorf("%s: %q, %d, %q", body, r.out, r.Code, r.err)
		}
	}
}

// TestGeneratedFunctionsArePrintedAsBashPrintsThem, also by the next script of the session.
func TestGeneratedFunctionsArePrintedAsBashPrintsThem(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var text strings.Builder
		for i := range 40 {
			fmt.Fprintf(&text, "f%d() {\n%s\n}\n", i, generated(random, 3))
		}
		first := run(t, text.String()+"declare -f", nil)
		next := run(t, "declare -f", func(s *interp.Settings) { s.State = first.State })
		want := inBash(t, text.String()+"declare -f")
		sameText(t, first, want)
		sameText(t, next, want)
	}
}

func sameText(t *testing.T, r ran, want string) {
	t.Helper()
	got, wanted := strings.Split(r.out, "\n"), strings.Split(want, "\n")
	for i := range wanted {
		if i >= len(got) || got[i] != wanted[i] {
			around := func(list []string) string {
				return strings.Join(list[min(len(list), max(0, i-9)):min(len(list), i+3)], "\n")
			}
			t.Fatalf("line %d:\n%s\nwant\n%s\n%s", i, around(got), around(wanted), r.err)
		}
	}
	if len(got) != len(wanted) {
		t.Fatalf("%d lines, want %d", len(got), len(wanted))
	}
}

// generated is a list of commands.
func generated(random *rand.Rand, depth int) string {
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	simple := func() string {
		return one("a", "b  c", "x=1", "x=1 y=$z a", `echo "$x  y"  'q  r'`, "echo $(a  b;c)", "a >x 2>&1", "a <x", `echo "${x:-"a b"}"`, "local x=1", "arr=(a   b)", "a <<<  x", "a \"$(b  >c|d&&! e)\" <(a  b) >>\"$x\"", "! a  b", "a |& b", `a ${x//a  b/"c"} "${x[@]}" ${#x}`, "declare -A m=([a]=b   [c]=$(d  e))", "y+=1 a 2>&-", "time a  b", "[[ $a||! ( b -nt c ) ]]", "[[ -f x&&$y == z* ]]")
	}
	if depth == 0 {
		return simple()
	}
	in := func() string { return generated(random, depth-1) }
	switch random.IntN(16) {
	case 0:
		return "if " + in() + "; then " + in() + "; else " + in() + "; fi"
	case 1:
		return "if " + in() + "\nthen " + in() + "; elif " + in() + "; then " + in() + "; fi"
	case 2:
		return one("for i in a  b", "for i", "for i in") + "; do " + in() + "; done"
	case 3:
		return one("while ", "until ") + in() + "; do " + in() + "\ndone"
	case 4:
		return "case $x in a|b) " + in() + one(";;", ";&", ";;&") + " *) " + in() + "\nesac"
	case 5:
		return "( " + in() + " )"
	case 6:
		return "{ " + in() + "; }" + one("", " >x", " 2>&1 <y")
	case 7, 8:
		return one("a  b | "+one("c <x", "{ "+in()+"; }", "( "+in()+" )", "while a; do "+in()+"; done"), simple()+one(" && ", "||", " || { a; } && ")+in())
	case 9:
		return "g() { " + in() + "; }"
	case 10:
		return simple() + " & " + in()
	case 11:
		return one("! a", "! a  | b")
	case 12, 13, 14:
		return in() + one("; ", "\n") + in()
	}
	return simple()
}

const bodies = `
a
a b   c
a; b; c
a & b
a & b &
a && b || c
a | b | c
a |& b
! a | b
if a; then b; fi
if a; b; then c; d; else e; fi
if a; then b; elif c; then d; elif e; then g; else h; fi
for i in 1 2 "$x"; do echo $i; done
for i; do a; b; done
for i in; do :; done
while a; do b; c; done
until a; b; do c; done
while a; do b & done
case $x in a|b) echo 1; echo 2;; (c) ;; d) e ;& f) g ;;& esac
case "$x" in *.o) a; esac
case x in esac
(a; b)
( a & )
{ a; b; }
{ a; b; } > x 2>&1 <y
{ { a; }; }
a >x 2>&1 >>y 3<z
a >&2
a <&- 2>&- 3>&4 <&3
a &>z &>>z >|q
a <>r 3<>s
a 1>x 0<y
>x a b
a 2>x b
cat <<< "abc $x"
x=1
x=1 y="a b" cmd z
x+=1
arr=(a   b [3]=c)
arr+=(x) ; arr[3]=y
local q=3 r
declare -A m=([a]=b)
export A=1 B
[[ -f x && ! ( $a == b* || -n "$c" ) ]]
[[ $a =~ ^x.*$ ]]
[[ $a ]]
[[ ! $a && a -nt b && $x = y && 1 -lt 2 && a < b ]]
g() { echo inner; }
function h { echo i; }; a
function k() (echo sub)
time a
time -p a | b
echo ${x:-"a  b"} "${x//a/b}" 'q  q' ${#x} ${!x} ${x[@]} ${x[1]} ${x%%*} "${x^^}" ${!p@} ${x@Q}
echo $(echo   a;b) "$(c   d|e&&f)"
a <(b;c) >(d)
a; b # comment
echo a\ b "\$x" \* ~/x {a,b} ?[a-z]* $1 $@ "$*" $# $? $$
if a; then (b); fi; { c; } | d
a || { b; return 1; }
while read -r l; do echo "$l"; done < x | sort
a && b & c; d
if ! a; then for i in x; do case $i in y) z;; esac; done; fi
if [ -f x ]; then return; fi
`
