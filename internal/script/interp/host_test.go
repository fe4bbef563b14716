//go:build linux

package interp_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tipstaff/internal/script/interp"
)

// ran is what came of a script within this process.
type ran struct {
	interp.Result
	host     *fake
	out, err string
}

// run interprets a script that ends, with a host of its own.
func run(t *testing.T, text string, change func(*interp.Settings)) ran {
	t.Helper()
	dir := t.TempDir()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	r := ran{host: &fake{}}
	settings := interp.Settings{Host: r.host, Null: null, Directory: dir, Files: [3]*os.File{in, open("stdout"), open("stderr")}}
	if change != nil {
		change(&settings)
	}
	s, result := interp.Run(settings, text)
	if s != nil {
		s.Wait()
	}
	r.Result = result
	for name, to := range map[string]*string{"stdout": &r.out, "stderr": &r.err} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		*to = string(data)
	}
	return r
}

// TestTheHostIsAskedForTheWordsThatACommandGets, and for nothing else.
func TestTheHostIsAskedForTheWordsThatACommandGets(t *testing.T) {
	for text, want := range map[string][]string{
		`a="x  y"; p $a "$a" '$a' \$a`:                                                         {`p|x|y|x  y|$a|$a`},
		`p "" '' $none ${none:-"a b"}`:                                                         {`p|||a b`},
		"p {a,b}{1..3} ~+":                                                                     {"p|a1|a2|a3|b1|b2|b3|DIR"},
		"p $((2**10)) $'\\t\\x41'":                                                             {"p|1024|\tA"},
		"p std* [s]tdou? 'std*' no*":                                                           {"p|stderr|stdout|stdout|std*|no*"},
		`set -- 1 "2 3"; p "$@" $* "$*" $#`:                                                    {"p|1|2 3|1|2|3|1 2 3|2"},
		`f() { p "$1" $FUNCNAME; }; f x; f y`:                                                  {"p|x|f", "p|y|f"},
		"x=$(p in $(p inner)); p out":                                                          {"p|inner", `p|in|["p"|"inner"]`, "p|out"},
		"p a && p b || p c; ! p d && p e":                                                      {"p|a", "p|b", "p|d"},
		"fail 3; p $?; fail 4 | p; p ${PIPESTATUS[*]}":                                         {"fail|3", "p|3", "fail|4", "p", "p|4|0"},
		`a=(1 "2 3"); a[5]=z; p "${a[@]}" ${#a[@]} "${!a[*]}"`:                                 {"p|1|2 3|z|3|0 1 5"},
		`declare -A m=([k]="v w"); p "${m[k]}" "${m[@]}"`:                                      {"p|v w|v w"},
		`trap 'p end $?' EXIT; trap 'p err' ERR; fail 7`:                                       {"fail|7", "p|err", "p|end|7"},
		`echo p | while read c; do $c read; done; eval 'p "a b"'`:                              {"p|read", "p|a b"},
		`case xay in *b*) p b;; x[a-c]*) p a;; esac; [[ ab =~ (a)b ]] && p ${BASH_REMATCH[1]}`: {"p|a", "p|a"},
		`x=abcabc; p ${x#*b} ${x##*b} ${x%b*} ${x/b/_} ${x//b/_} ${x:1:3} ${x^^}`:              {"p|cabc|c|abca|a_cabc|a_ca_c|bca|ABCABC"},
		"echo no; : p; type p; command -v p; false; [ p = q ]":                                 nil,
	} {
		var dir string
		r := run(t, text, func(s *interp.Settings) { dir = s.Directory })
		var got []string
		for _, words := range r.host.words {
			got = append(got, strings.ReplaceAll(strings.Join(words, "|"), dir, "DIR"))
		}
		if strings.Contains(text, "|") && strings.Contains(text, "fail 4 |") { // they start in no certain order
			slices.Sort(got)
			want = slices.Sorted(slices.Values(want))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s\ngot  %q\nwant %q\n%s", text, got, want, r.err)
		}
	}
}

// TestTheHostIsToldOnlyWhatVariablesHaveChanged.
func TestTheHostIsToldOnlyWhatVariablesHaveChanged(t *testing.T) {
	r := run(t, `export A=1; B=2; p; A=3 B=4 p; unset OLD; p; export -n A; p; declare -x C=5; cd /; p`, func(s *interp.Settings) {
		s.Environment = []string{"OLD=x", "SAME=y"}
	})
	want := []string{"A=1", "A=3 B=4", "A=1 OLD", "OLD", "C=5 OLD OLDPWD=DIR PWD=/"}
	for i, env := range r.host.environments {
		env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "_=") || v == "PWD="+r.host.directories[0] })
		slices.Sort(env)
		if got := strings.ReplaceAll(strings.Join(env, " "), r.host.directories[0], "DIR"); got != want[i] {
			t.Errorf("command %d: %q, want %q", i, got, want[i])
		}
	}
	if last := r.host.directories[len(r.host.directories)-1]; last != "/" || r.Directory != "/" {
		t.Errorf("it runs in %s, the session goes on in %s", last, r.Directory)
	}
}

// TestARefusalEndsTheScript, with every subshell of it, unless the operator wants that it goes on.
func TestARefusalEndsTheScript(t *testing.T) {
	for _, text := range []string{
		"refused; p on", "(refused; p on); p on", "x=$(refused); p on", "refused | in; p on", "refused & wait; p on",
		"f() { refused; p on; }; f || p on", "trap 'p on' EXIT ERR; refused", "while refused; do p on; done; p on", "eval 'refused; p on'",
		"if ! refused; then p on; fi", "[[ $(refused) ]]; p on", "a=($(refused) $(p on)); p on",
	} {
		r := run(t, text, nil)
		for _, words := range r.host.words {
			if strings.Join(words, " ") == "p on" {
				t.Errorf("%s: it went on: %q", text, r.host.words)
			}
		}
		if r.Code != 126 || !strings.Contains(r.err, "refused: no") {
			t.Errorf("%s: %d %q", text, r.Code, r.err)
		}
		r = run(t, text, func(s *interp.Settings) { s.Continue = true })
		if r.Code == 126 && !strings.HasSuffix(text, "refused") {
			t.Errorf("%s: it did not go on", text)
		}
	}
}

// TestRedirectionsThatTheHostDoesNotWantOpenNothing.
func TestRedirectionsThatTheHostDoesNotWantOpenNothing(t *testing.T) {
	for _, text := range []string{"p > forbidden", "p >> forbidden", "p 2> forbidden", "p &> forbidden", "p >| forbidden", "p <> forbidden", ": > ./sub/../forbidden", "exec > forbidden", "{ p; } > forbidden", "f() { p; } > forbidden; f", "echo $(echo x > forbidden)", "x=forbidden; p > $x"} {
		r := run(t, "mkdir() { :; }; "+text+"; echo status $?", func(s *interp.Settings) { _ = os.Mkdir(s.Directory+"/sub", 0o700) })
		if !strings.Contains(r.err, "line 1: ") || !strings.Contains(r.err, "not there") {
			t.Errorf("%s: %q", text, r.err)
		}
		if len(r.host.words) > 0 {
			t.Errorf("%s: asked for %q", text, r.host.words)
		}
		if strings.Contains(r.out, "status 0") && !strings.Contains(text, "$(") {
			t.Errorf("%s: %q", text, r.out)
		}
	}
}

// TestNothingIsLeftOpen of a script, however it ended.
func TestNothingIsLeftOpen(t *testing.T) {
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	scripts := []string{
		"exec 3>f 4<f 5>&3; p | in | in; x=$(p); p <(p) >(in); cat() { in; }; cat <<< a; cat << E\nb\nE\n",
		"f() { f; }; exec 3>f; f", "exec 3>f; echo ${x?gone}", "exec 3>f; kill $$", "(exec 3>f; exit 3) & wait; set -e; fail 1",
		"for i in {1..50}; do p | in & done; wait", "while :; do echo y; done | read x", "exec 3< f; p", "echo (", "eval 'echo ('", "refused | in", "cd /; pushd /usr; popd; cd -",
		"{ p | in; } 3>f 4>&3 | { read x; }", "x=$(exec 3>f; p <(p)); trap 'exec 4>g' EXIT",
	}
	for _, text := range scripts { // what Go opens for itself
		run(t, text, nil)
	}
	before := count()
	for range 5 {
		for _, text := range scripts {
			run(t, text, nil)
		}
	}
	for until := time.Now().Add(10 * time.Second); count() > before; {
		if time.Now().After(until) {
			t.Fatalf("%d descriptors were open before, %d are now", before, count())
		}
		_, _ = io.Discard.Write(nil)
	}
}

// TestDepthsWithinTheBoundsWork: the bounds are not lower than they say.
func TestDepthsWithinTheBoundsWork(t *testing.T) {
	for text, want := range map[string]string{
		"f() { (( $1 == 0 )) && echo end && return; f $(( $1 - 1 )); }; f 990":               "end\n",
		"f() { (( $1 == 0 )) && echo end && return; eval \"f $(( $1 - 1 ))\"; }; f 490":      "end\n",
		"f() { (( $1 == 0 )) && echo end && return; ( f $(( $1 - 1 )) ); }; f 55":            "end\n",
		"for i in {1..300}; do : & done; wait; echo end":                                     "end\n",
		"x1=1; for i in {2..900}; do eval x$i=x$((i-1)); done; echo $((x900)); unset ${!x*}": "1\n",
		"set -- {1..500000}; echo $#":                                                        "500000\n",
		"printf -v x %1000000s; echo ${#x}; unset x":                                         "1000000\n",
	} {
		if r := run(t, text, nil); r.out != want || r.err != "" || r.Fault != nil {
			t.Errorf("%s: %.100q %.300q %v", text, r.out, r.err, r.Fault)
		}
	}
}

// TestTheEndOfAScriptByItsOwnSignal is that of Bash: the EXIT trap runs, but for SIGKILL.
func TestTheEndOfAScriptByItsOwnSignal(t *testing.T) {
	for text, want := range map[string]struct {
		code int
		out  string
	}{
		"kill $$; echo on":                              {143, ""},
		"kill -9 $$; echo on":                           {137, ""},
		"trap 'echo t; echo u' EXIT; kill $$; echo on":  {143, "t\nu\n"},
		"trap 'echo t; exit 3' EXIT; kill -INT $$":      {130, "t\n"},
		"trap 'echo t' EXIT; kill -9 $$; echo on":       {137, ""},
		"trap 'kill $$; echo t' EXIT; kill $$; echo on": {143, "t\n"},
		"kill -0 $$; echo on":                           {0, "on\n"},
	} {
		if r := run(t, text, nil); r.Code != want.code || r.out != want.out {
			t.Errorf("%s: %d %q, want %+v (%s)", text, r.Code, r.out, want, r.err)
		}
	}
}
