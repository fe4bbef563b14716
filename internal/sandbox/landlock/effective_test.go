package landlock

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatAnOlderKernelCannotRestrictIsNamed(t *testing.T) {
	all := Options{Files: true, NoTCP: true, Scope: true}
	const first = Access(1<<13 - 1)
	refer := "refer (no file changes its directory)"
	for name, c := range map[string]struct {
		options Options
		kernel  int
		want    Effective
	}{
		"the first": {all, 1, Effective{ABI: 1, Files: first,
			Missing: []string{refer, "truncate", "TCP", "ioctl_dev", "signals", "abstract sockets", "resolve_unix"}}},
		"with refer": {all, 2, Effective{ABI: 2, Files: first | Refer,
			Missing: []string{"truncate", "TCP", "ioctl_dev", "signals", "abstract sockets", "resolve_unix"}}},
		"with truncate": {all, 3, Effective{ABI: 3, Files: first | Refer | Truncate,
			Missing: []string{"TCP", "ioctl_dev", "signals", "abstract sockets", "resolve_unix"}}},
		"with TCP": {all, 4, Effective{ABI: 4, Files: first | Refer | Truncate, TCP: true,
			Missing: []string{"ioctl_dev", "signals", "abstract sockets", "resolve_unix"}}},
		"with devices": {all, 5, Effective{ABI: 5, Files: first | Refer | Truncate | IoctlDev, TCP: true,
			Missing: []string{"signals", "abstract sockets", "resolve_unix"}}},
		"with scopes": {all, 6, Effective{ABI: 6, Files: first | Refer | Truncate | IoctlDev, TCP: true, Scope: true,
			Missing: []string{"resolve_unix"}}},
		"with sockets by path":           {all, 9, Effective{ABI: 9, Files: every, TCP: true, Scope: true}},
		"one of the future":              {all, 30, Effective{ABI: 30, Files: every, TCP: true, Scope: true}},
		"a new one that behaves as old":  {Options{Files: true, ABI: 3}, 30, Effective{ABI: 3, Files: first | Refer | Truncate, Missing: []string{"ioctl_dev", "resolve_unix"}}},
		"what was not asked for":         {Options{NoTCP: true}, 5, Effective{ABI: 5, TCP: true}},
		"what was not asked is not lost": {Options{Scope: true}, 6, Effective{ABI: 6, Scope: true}},
	} {
		got, err := c.options.effective(c.kernel)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestARulesetThatWouldRestrictNothingIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		kernel  int
	}{
		"nothing asked":         {Options{}, 7},
		"only what is newer":    {Options{NoTCP: true, Scope: true}, 3},
		"only what is newer 2":  {Options{Scope: true, ABI: 5}, 7},
		"newer than the kernel": {Options{Files: true, ABI: 8}, 7},
		"an ABI below zero":     {Options{Files: true, ABI: -1}, 7},
	} {
		if e, err := c.options.effective(c.kernel); err == nil || e.Files != 0 || e.TCP || e.Scope {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
}

func TestTheOperatorReadsWhatIsRestricted(t *testing.T) {
	e := Effective{ABI: 3, Files: ReadFile | Truncate, Missing: []string{"TCP", "signals"}}
	if got, want := e.String(), "Landlock ABI 3: files (read_file, truncate); missing: TCP, signals"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	e = Effective{ABI: 6, TCP: true, Scope: true}
	if got, want := e.String(), "Landlock ABI 6: TCP, signals, abstract sockets"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for a, want := range map[Access]string{0: "none", Refer: "refer", every + 1: "0x20000", Execute | 1<<40: "execute, 0x10000000000"} {
		if got := a.String(); got != want {
			t.Errorf("%#x is %q, want %q", uint64(a), got, want)
		}
	}
}

func TestTheSetsOfAccesses(t *testing.T) {
	if got := strings.Count(Access(every).String(), ",") + 1; got != 17 {
		t.Errorf("%d accesses have names", got)
	}
	if never := MakeChar | MakeBlock; (Read|Write|Device|File)&never != 0 {
		t.Error("a set allows to make devices")
	}
	if Read&Write != 0 || Device&^File != 0 || Write&(IoctlDev|ResolveUnix) != 0 {
		t.Error("a set has more than it should")
	}
}
