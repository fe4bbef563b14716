//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tipstaff"
	"tipstaff/internal/proc"
)

func TestLimitsReachTheKernel(t *testing.T) {
	limits := ResourceLimits{MemoryBytes: 3 << 30, CPU: 90*time.Second + time.Millisecond, FileBytes: 5 << 20, OpenFiles: 123}
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier, func(_ *box, o *Options) { o.Limits = limits })
		lines := b.sh("cat /proc/self/limits").text
		for what, want := range map[string]string{
			"Max cpu time":       "91 92 seconds", // the signal that tells of it comes first
			"Max file size":      "5242880 5242880 bytes",
			"Max data size":      "3221225472 3221225472 bytes",
			"Max open files":     "123 123 files",
			"Max core file size": "0 0 bytes",
		} {
			if got := limit(lines, what); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		b.all([]try{
			{"none can be raised", not("ulimit -n 124"), "=refused"},
			{"a file does not grow beyond it", "(exec head -c 6000000 /dev/zero > big) 2> /dev/null; wc -c < big", "5242880\n"},
			{"nobody opens more files", "sh -c 'exec 200< /dev/null' 2>&1", "sh:"},
		})
	})
}

// limit finds a line of /proc/self/limits.
func limit(lines, what string) string {
	for line := range strings.Lines(lines) {
		if rest, ok := strings.CutPrefix(line, what); ok {
			return strings.Join(strings.Fields(rest), " ")
		}
	}
	return "missing"
}

func TestWithoutLimitsCommandsHaveTheServers(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier)
		lines := b.sh("cat /proc/self/limits").text
		ours, err := os.ReadFile("/proc/self/limits")
		b.must(err)
		for _, what := range []string{"Max cpu time", "Max file size", "Max data size"} {
			if got, want := limit(lines, what), limit(string(ours), what); got != want {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
	})
}

func TestALimitAboveTheServersIsTheServers(t *testing.T) {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &now); err != nil {
		t.Fatal(err)
	}
	b := newBox(t, Landlock, func(_ *box, o *Options) { o.Limits.OpenFiles = 1 << 30 })
	if got, want := limit(b.sh("cat /proc/self/limits").text, "Max open files"), fmt.Sprintf("%d %[1]d files", now.Max); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestALimitOfDescriptorsIsTheCommands: the server has more of them open than one
// command may, with a few sessions already.
func TestALimitOfDescriptorsIsTheCommands(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier, func(_ *box, o *Options) { o.Limits.OpenFiles = 64 })
		for range 80 {
			f, err := os.Open(os.DevNull)
			b.must(err)
			defer f.Close()
		}
		b.all([]try{
			{"it runs all the same", "ulimit -n; ls /proc/self/fd | wc -l", "=64\n4"},
			{"again", "ulimit -Hn", "=64"},
		})
	})
}

func TestProcessesAreBounded(t *testing.T) {
	const bomb = "i=0; while [ $i -lt 500 ]; do sleep 20 & i=$((i+1)); done; echo all"
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) {
			if major, minor := kernel(t); tier == Namespaces && (major < 6 || major == 6 && minor < 14) {
				t.Skip("kernel.pid_max belongs to the machine before Linux 6.14")
			}
			if tier == Landlock && isRoot(t) {
				t.Skip("outside of namespaces root is not held to it")
			}
			b := newBox(t, tier, func(_ *box, o *Options) { o.Limits.Processes = 50 })
			if got := b.sh(bomb).text; strings.Contains(got, "all") || !strings.Contains(got, "ork") {
				t.Errorf("it printed %q", got)
			}
			if got := b.sh("echo x").text; got != "x\n" {
				t.Errorf("after it the next one printed %q", got)
			}
		})
	}
}

// TestTheLimitOfProcessesIsExact: a shell has all but one of them for its children,
// in a new namespace as in one whose ids have wrapped around.
func TestTheLimitOfProcessesIsExact(t *testing.T) {
	const last = `i=0; while :; do sleep 20 > /dev/null 2>&1 & i=$((i+1)); echo $i; done 2> /dev/null`
	b := newBox(t, Namespaces, func(_ *box, o *Options) { o.Limits.Processes, o.ExactProcesses = 50, true })
	for _, before := range []string{"", "j=0; while [ $j -lt 200 ]; do /bin/true; j=$((j+1)); done; "} {
		if lines := strings.Fields(b.sh(before + last).text); len(lines) != 49 {
			t.Errorf("after %q a shell made %d children of 49", before, len(lines))
		}
	}
	free := newBox(t, Namespaces, func(_ *box, o *Options) { o.Limits.Processes = 80 })
	if lines := strings.Fields(free.sh(last).text); len(lines) != 79 {
		t.Errorf("with another limit a shell made %d children of 79", len(lines))
	}
}

// TestALimitOfProcessesThatCannotBeExactIsRefused where the operator has set it, and
// a rule has; a default is kept as well as the machine can.
func TestALimitOfProcessesThatCannotBeExactIsRefused(t *testing.T) {
	weak := newBox(t, Landlock, func(_ *box, o *Options) { o.Limits.Processes = 4096 })
	if weak.o.Engine.Bounds().Processes {
		t.Skip("a control group bounds commands here, in every tier")
	}
	for says, change := range map[string]func(*Options){
		"landlock":         func(o *Options) { o.Tier = Landlock },
		"landlock, forced": func(o *Options) { o.Tier, o.Mode = Landlock, Require },
		"off":              func(o *Options) { o.Mode = Off },
	} {
		w := newWorld(t)
		o := w.options(None)
		o.Limits.Processes, o.ExactProcesses = 50, true
		change(&o)
		s, err := New(o)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "TIPSTAFF_LIMIT_PROCESSES=50") || !strings.Contains(err.Error(), "leave TIPSTAFF_LIMIT_PROCESSES out") {
			t.Errorf("%s: %v", says, err)
		}
	}
	if err := weak.Meets(Terms{Limits: ResourceLimits{Processes: 50}}); !errors.Is(err, ErrUnmet) || !strings.Contains(err.Error(), "exactly 50 processes") {
		t.Errorf("a rule: %v", err)
	}
	if err := weak.Meets(Terms{Limits: ResourceLimits{FileBytes: 50}}); err != nil {
		t.Errorf("another limit of a rule: %v", err)
	}
}

func TestACommandThatMeetsALimitIsToldSo(t *testing.T) {
	eachTier(t, func(t *testing.T, tier Tier) {
		b := newBox(t, tier, func(_ *box, o *Options) { o.Limits = ResourceLimits{CPU: time.Second, FileBytes: 1 << 20} })
		big := b.sh("exec head -c 2000000 /dev/zero > big")
		if big.Cause != tipstaff.FileSizeLimit || len(big.Refusals) != 1 || !strings.Contains(big.Refusals[0], "1048576 bytes") {
			t.Errorf("a file that is too big: %v, %q", big.Cause, big.Refusals)
		}
		if child := b.sh("head -c 2000000 /dev/zero > big; exit $?"); len(child.Refusals) != 1 || !strings.Contains(child.Refusals[0], "1048576 bytes") {
			t.Errorf("in a child: %d, %q", child.ExitCode, child.Refusals)
		}
		if child := b.sh("sh -c 'while :; do :; done'; exit $?"); len(child.Refusals) != 1 || !strings.Contains(child.Refusals[0], "processor time, 1s") {
			t.Errorf("an endless loop in a child: %d, %q", child.ExitCode, child.Refusals)
		}
		long := b.sh("while :; do :; done")
		if long.Cause != tipstaff.CPULimit || len(long.Refusals) != 1 || !strings.Contains(long.Refusals[0], "processor time, 1s") {
			t.Errorf("an endless loop: %v %s, %q", long.Cause, long.Signal, long.Refusals)
		}
	})
}

func TestLimitsAreThoseThatTheKernelKnows(t *testing.T) {
	for _, c := range []struct {
		says string
		l    ResourceLimits
		want string
	}{
		{"none", ResourceLimits{}, ""},
		{"nothing negative is a limit", ResourceLimits{MemoryBytes: -1, FileBytes: -1, OpenFiles: -1, CPU: -time.Hour}, ""},
		{"less than a second is one", ResourceLimits{CPU: time.Millisecond}, "0:1"},
		{"all", ResourceLimits{MemoryBytes: 4, CPU: 2 * time.Second, FileBytes: 3, OpenFiles: 1}, "0:2 1:3 2:4 7:1"},
	} {
		var got []string
		for _, l := range c.l.kernel(Namespaces, proc.GroupLimits{}) {
			got = append(got, fmt.Sprintf("%d:%d", l.Resource, l.Value))
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", c.says, text, c.want)
		}
	}
}
