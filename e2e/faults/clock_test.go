//go:build linux && !race

package faults

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A time namespace moves the monotonic clock and never the time of day, and to
// set the machine's own clock would be no test but damage. So the program is
// built with a time.Now that jumps: the seconds of CLOCK_STEP are added to
// the time of day from four seconds after the start on, and the monotonic clock
// goes on as it was. That is what a process sees when somebody sets the clock.
const stepSetting = "CLOCK_STEP"

// withAClockThatJumps builds the program with that time.Now, in a directory.
func withAClockThatJumps(t *testing.T, dir string) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	must(t, err)
	source := filepath.Join(string(bytes.TrimSpace(root)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	must(t, err)
	const at = "	mono -= startNano\n	sec += unixToInternal - minWall\n"
	if bytes.Count(text, []byte(at)) != 1 || bytes.Count(text, []byte("\nfunc Now() Time {")) != 1 {
		t.Fatalf("%s is not as this test knows it: look at Now there, and change the line that is replaced", source)
	}
	text = bytes.Replace(text, []byte(at), []byte("	mono -= startNano\n	sec += unixToInternal - minWall + step(mono)\n"), 1)
	text = append(text, `
var stepBy, stepKnown = int64(0), false

// Threads that come here at once compute the same.
func step(mono int64) int64 {
	if mono < 4e9 {
		return 0
	}
	if !stepKnown {
		s, _ := syscall.Getenv("`+stepSetting+`")
		var by int64
		for _, c := range []byte(s) {
			if c >= '0' && c <= '9' {
				by = by*10 + int64(c-'0')
			}
		}
		if len(s) > 0 && s[0] == '-' {
			by = -by
		}
		stepBy, stepKnown = by, true
	}
	return stepBy
}
`...)
	text = bytes.Replace(text, []byte("import (\n"), []byte("import (\n	\"syscall\"\n"), 1)
	changed, overlay, bin := filepath.Join(dir, "time.go.txt"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tipstaff-jumps")
	must(t, os.WriteFile(changed, text, 0o600))
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	must(t, err)
	must(t, os.WriteFile(overlay, data, 0o600))
	if out, err := exec.Command("go", "build", "-overlay", overlay, "-o", bin, "tipstaff/cmd/tipstaff").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// TestTheClockJumps: what the build is for, seen in the dates of records.
func TestTheClockJumps(t *testing.T) {
	needNamespaces(t)
	notOfTheSix(t)
	bin, home := withAClockThatJumps(t, t.TempDir()), t.TempDir()
	cmd := exec.Command(bin, "run", "--", "sleep", "5") // the clock jumps after four seconds
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "ALLOWED_COMMANDS=sleep", "TIPSTAFF_STATE_DIR=" + home, stepSetting + "=3600"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	trails, err := filepath.Glob(filepath.Join(home, "audit", "*", "*.jsonl"))
	must(t, err)
	if len(trails) != 1 {
		t.Fatalf("the trails are %v", trails)
	}
	data, err := os.ReadFile(trails[0])
	must(t, err)
	var first, last struct{ Time time.Time }
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	must(t, json.Unmarshal(lines[0], &first))
	must(t, json.Unmarshal(lines[len(lines)-1], &last))
	if apart := last.Time.Sub(first.Time); apart < time.Hour || apart > time.Hour+time.Minute {
		t.Errorf("the first record and the last are %v apart:\n%s", apart, data)
	}
}

// clock builds the program whose clock jumps, once.
func (f *fleet) clock() {
	if f.jumping == "" {
		f.jumping = withAClockThatJumps(f.t, f.dir)
	}
}

// jump starts a runner again with a clock that jumps by an hour.
func (f *fleet) jump(r *member, by string) {
	f.t.Helper()
	r.stop(time.Minute)
	r.argv[0], r.env = f.jumping, append(r.env, stepSetting+"="+by)
	f.refused = r.count(notTaken)
	r.start()
}

// notTaken is what a runner logs of a call by a gateway whose clock is another.
const notTaken = "a message of a gateway is not taken"

// settle starts it again as it was, and wants to have seen that the clock was wrong.
func (f *fleet) settle(r *member) {
	f.t.Helper()
	r.stop(time.Minute)
	if r.count(notTaken) == f.refused {
		f.t.Errorf("with a clock that is off by an hour, %s has refused no call\n%s", r.name(), r.tail(10))
	}
	r.argv[0], r.env = f.bin, r.env[:len(r.env)-1]
	r.start()
}
