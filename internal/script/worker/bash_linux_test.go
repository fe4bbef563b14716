package worker

import (
	"fmt"
	"testing"

	"tipstaff/internal/testing/bashtest"
)

// input is the standard input of scripts.
const input = "in1\nin2\n"

// here runs a script in a script process, and returns its answer and its standard
// error, in which a refusal before the script began is marked.
func here(t testing.TB, text string) (bashtest.Answer, string, error) {
	t.Helper()
	dir := t.TempDir()
	r, err := script{text: text, dir: dir, stdin: input}.start(t)
	if r.gone {
		err = fmt.Errorf("gone: %s", r.crash)
	}
	if r.done.Text != "" {
		r.err += "~refused " + r.done.Text
	}
	return bashtest.New(dir, r.out, r.err, r.code), r.err, err
}

// TestWhatAScriptProcessAsksForIsWhatBashStarts: words, directory, variables and
// descriptors reach the server, and codes and numbers come back. What the language
// means is the matter of the scripts in internal/script/interp/testdata.
func TestWhatAScriptProcessAsksForIsWhatBashStarts(t *testing.T) {
	for _, text := range []string{
		`printf '<%s>' a "b  c" '' $'d\te' "*"; echo`,
		`A=1 sh -c 'echo $A'; export B=2; sh -c 'echo $B'; unset HOME; sh -c 'echo ${HOME-none}'`,
		`mkdir d; cd d; /bin/pwd; cd /; /bin/pwd`,
		`mkdir d && cd d && rmdir ../d && echo $(/bin/echo still)`,
		`cat; echo x | cat; cat < /dev/null; cat <<< here`,
		`head -1; cat`,
		`sh -c 'echo out; echo err >&2' 2>&1 | sort; sh -c 'echo err >&2' 2> f; cat f`,
		`sh -c 'echo three >&3' 3>f; cat f; sh -c 'cat <&4' 4<f; cat <&-; echo $?; sh -c 'echo x' >&-; echo $?`,
		`exec 3>f; sh -c 'echo a >&3'; echo b >&3; exec 3>&-; cat f`,
		`printf 12345 > g; exec 3<>g; read -n 2 x <&3; sh -c 'printf X >&3'; exec 3>&-; cat g`,
		`seq 3 | { read a; cat; echo $a; }; seq 10000 | sort -rn | head -1`,
		`yes | head -1 >/dev/null; echo ${PIPESTATUS[@]}`,
		`for i in $(seq 200); do /bin/echo $i; done | head -1`,
		`(exit 3) | sh -c 'exit 4' | sh -c 'kill -PIPE $$'; echo "${PIPESTATUS[@]}"`,
		`diff <(echo a) <(/bin/echo b); echo $?; cat <(echo a; /bin/echo b) <(seq 2); echo hi | tee >(cat >f) >/dev/null; sleep 0.2; cat f`,
		`sh -c 'exit 7' & wait $!; echo $?; sleep 30 & kill $!; wait $!; echo $?; (sleep 30; echo no) & kill $!; wait $!; echo $?`,
		`sleep 0.2 & p=$!; test -d /proc/$p && echo alive; wait $p; echo $?`,
		`nonesuch 2>/dev/null; echo $?; /etc/passwd 2>/dev/null; echo $?; /etc 2>/dev/null; echo $?`,
		`x=$(/bin/echo sub; echo shell); echo "$x"; exec sh -c 'echo replaced $0' name`,
		`trap '/bin/echo bye' EXIT; sh -c 'exit 5'`,
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			want, wantErr := bashtest.Bash(t, text, input)
			got, gotErr, err := here(t, text)
			if err != nil || got != want {
				t.Errorf("%s\n%v\nhere %+v err %q\nbash %+v err %q", text, err, got, gotErr, want, wantErr)
			}
		})
	}
}
