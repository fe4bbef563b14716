//go:build linux

package interp_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tipstaff/internal/script/interp"
	"tipstaff/internal/testing/bashtest"
)

// TestThePrintedTextOfAFunctionIsTheSameFunction, in Bash and here, for each form of
// the language: it does what the original does when Bash runs that.
func TestThePrintedTextOfAFunctionIsTheSameFunction(t *testing.T) {
	const call = "\nx=1 y='a  b'; arr=(p 'q  r'); f one 'two  words' <<< in; echo \"$? $x $y\""
	for body := range strings.SplitSeq(strings.TrimSpace(functionBodies), "\n---\n") {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			declared := "f() {\n" + body + "\n}"
			if strings.HasPrefix(body, "f() ") || strings.HasPrefix(body, "function f") {
				declared = body
			}
			printed := printedFunction(t, declared)
			want, _ := bashtest.Bash(t, declared+call, inputForScripts)
			if got, stderr := bashtest.Bash(t, printed+call, inputForScripts); got != want {
				t.Errorf("%s\nis printed\n%s\nwhich gives in Bash %+v %q\nnot %+v", declared, printed, got, stderr, want)
			}
			got, stderr, err := here(t, printed+call)
			if err != nil || got != want {
				t.Errorf("%s\nis printed\n%s\nwhich gives %+v %q %v\nnot %+v", declared, printed, got, stderr, err, want)
			}
		})
	}
}

// TestAPrintedFunctionCanBeGivenToAnotherShell, as people do it.
func TestAPrintedFunctionCanBeGivenToAnotherShell(t *testing.T) {
	for _, text := range []string{
		`f() { echo "in $1" $((1+2)) ${1:1:2}; }; bash -c "$(declare -f f); f arg"`,
		`f() { for ((i=0; i<2; i++)); do echo $i; done; }; g() { f; f; }; bash -c "$(declare -f f g); g"`,
		`f() { cat; echo $'a\tb'; }; type f | sed 1d | (cat; echo f) | bash -s <<< x; bash -c "$(type f | sed 1d); f" <<< in`,
		`f() { echo f; }; eval "$(declare -f f | sed 's/^f/g/')"; g; unset -f f; eval "$(declare -f)"; g`,
	} {
		same(t, text)
	}
}

// TestGeneratedFunctionsKeepTheirMeaning: Bash prints each function in one way, so it
// prints the text from here as it prints the original. The next script of the session
// prints what the first did.
func TestGeneratedFunctionsKeepTheirMeaning(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var text strings.Builder
		for i := range 40 {
			fmt.Fprintf(&text, "f%d() {\n%s\n}\n", i, generated(random, 3))
		}
		first := run(t, text.String()+"declare -f", nil)
		next := run(t, "declare -f", func(s *interp.Settings) { s.State = first.State })
		want, stderr := bashtest.Bash(t, text.String()+"declare -f", "")
		if stderr != "" {
			t.Fatal(stderr)
		}
		got, stderr := bashtest.Bash(t, first.out+"declare -f", "")
		sameCommands(t, got.Out, want.Out, stderr)
		got, stderr = bashtest.Bash(t, next.out+"declare -f", "")
		sameCommands(t, got.Out, want.Out, stderr)
	}
}

// printedFunction is a function's text, as declare -f prints it.
func printedFunction(t *testing.T, declared string) string {
	t.Helper()
	r := run(t, declared+"\ndeclare -f f", nil)
	if r.Code != 0 || r.err != "" || r.Fault != nil {
		t.Fatalf("%s\n%d %q %v", declared, r.Code, r.err, r.Fault)
	}
	return r.out
}

// sameCommands compares what Bash prints of two texts. Where a list within $(…) breaks
// its lines is the text's, and nothing else is.
func sameCommands(t *testing.T, text, want, stderr string) {
	t.Helper()
	words := func(text string) []string {
		return strings.Fields(strings.NewReplacer(";", " ", "(", " ( ", ")", " ) ").Replace(text))
	}
	got, wanted := words(text), words(want)
	for i := range wanted {
		if i >= len(got) || got[i] != wanted[i] {
			around := func(list []string) string {
				return strings.Join(list[min(len(list), max(0, i-30)):min(len(list), i+9)], " ")
			}
			t.Fatalf("word %d:\n%s\nwant\n%s\n%s", i, around(got), around(wanted), stderr)
		}
	}
	if len(got) != len(wanted) {
		t.Fatalf("%d words, want %d", len(got), len(wanted))
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

// functionBodies are bodies of functions, or functions whose text begins with "f".
const functionBodies = `
echo a b   c; true
---
echo a; echo b & wait
---
echo a && false || echo c; ! echo d | grep -q e
---
echo a |& cat; { echo o; echo e >&2; } 2>&1 | sort
---
if [ "$1" ]; then echo "$1"; elif false; then echo no; else echo else; fi
---
for i in 1 2 "$2"; do echo "<$i>"; done; for i; do echo "$i"; done
---
for ((i = 0; i < 3; i++)); do echo $i; done; for ((;;)); do break; done
---
while read -r l; do echo "$l"; done; until true; do :; done
---
case $1 in
one | two) echo 1 ;;&
o*) echo 2 ;&
x) echo 3 ;;
*) echo no ;;
esac
---
(echo sub; exit 3); echo $?; { echo group; } > out; cat out
---
echo $((1 + 2 * x)) $((x++)) $x; ((x = 5)); ((x > 3)) && echo gt; let x+=1 'y = 2'; echo $x $y
---
echo ` + "`echo back` \"`echo \\\"q\\\"`\"" + `
---
cat <<X
text $1 $(echo sub) \$x
	tab
X
echo after
---
cat <<-'X'
	text $1
	X
cat <<A; cat <<B
a
A
b
B
---
if true; then
	cat <<X | tr a-z A-Z
nested $2
X
fi
---
echo $'a\tb\x41\'' $"msg" 'sq  $x' "dq  $x \" \\"
---
echo ${1:1:2} ${1: -1} ${1/n/N} ${1//[aeiou]} ${1#o} ${1##*n} ${1%e} ${1^^} ${#1} ${1:-d} "${nope:-"a  b"}" ${!#} ${arr[@]} "${arr[@]:1}" ${#arr[@]} ${!arr[@]} ${1@Q}
---
local a=(1 "2  3" [5]=x); a+=(y); a[1]=z; echo "${a[@]}" "${!a[@]}"; local -A m=([k]=v ["a b"]=c); echo "${m[k]}" "${m["a b"]}"
---
x=2 y+=c; export E=1 F; declare -i n=1+1; readonly R=5; echo $x $y $E $n $R; IFS=: read -r p q <<< a:b; echo $q
---
[[ -n $1 && ! ( $1 == t* || $1 =~ ^x ) ]] && echo yes; [[ $1 < $2 ]]; echo $?; [[ ab =~ (a)(b) ]] && echo "${BASH_REMATCH[2]}"
---
echo a > out; echo b >> out; cat < out; echo e 2>&1 >&2 2>/dev/null; echo c >| out; exec 3< out; cat <&3; exec 3<&-; echo x &> all; cat <> all
---
cat <(echo a) <(echo b); echo $(if true; then echo in; fi) $(case x in x) echo c ;; esac)
---
g() { echo "inner $1"; }; function h { echo h; }; g x; h
---
echo {a,b}{1..3} ~/x \* "a"\ b \$x a#b # comment
---
time true 2> /dev/null
---
return 7
---
trap 'echo "bye $?"' EXIT; eval 'echo "e $1"'; shift; echo $#; set -- a b; echo "$*"
---
echo a \
	b; echo "c
d"
---
> out; < out cat; A=1 B=2 env | grep -c '^[AB]='; ! [ a = b ]
---
x=; if [[ ! $x ]]; then :; fi; for i in; do :; done; while false; do :; done; case $x in esac
---
f() ( echo subshell; exit 4 )
---
function f { echo keyword; }
---
f() { cat; echo "$1"; } < /dev/null 2>&1
---
f() if true; then echo "if $1"; fi
---
f() for i in a b; do echo $i; done
---
f() [[ $1 == one ]]
---
f() ((x == 1))
`
