//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tipstaff"
	"tipstaff/internal/testing/testcmd/testcmdtest"
)

const smallDiskEnv = "TIPSTAFF_TEST_SMALL_DISK"

// onSmallDisk runs a test again in a mount namespace of its own, with a small file
// system. mount is the shell's, and may make it of the file "$2".
func onSmallDisk(t *testing.T, mount string, test func(t *testing.T, disk string)) {
	t.Helper()
	if disk := os.Getenv(smallDiskEnv); disk != "" {
		test(t, disk)
		return
	}
	disk := t.TempDir()
	cmd := exec.Command("unshare", "-m", "--propagation", "private", "sh", "-c",
		"("+mount+`) > "$2.log" 2>&1 || { cat "$2.log"; exit 77; }; exec "$3" -test.run "^$4\$" -test.v`, "sh", disk, filepath.Join(t.TempDir(), "image"), os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), smallDiskEnv+"="+disk)
	out, err := cmd.CombinedOutput()
	switch code := cmd.ProcessState.ExitCode(); {
	case code == 77, err != nil && strings.HasPrefix(string(out), "unshare:"):
		t.Skipf("no such small file system can be mounted here: %s", out)
	case err != nil && !(testcmdtest.Lost(err) && strings.Contains(string(out), "--- PASS: "+t.Name())):
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	}
}

// fill leaves no room on a disk, and returns the file that takes it.
func fill(t *testing.T, disk string) (filler string) {
	t.Helper()
	f, err := os.OpenFile(disk+"/filler", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for _, size := range []int{1 << 20, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return f.Name()
}

// TestOnAFullDiskOnlyNewSessionsAreRefused, in both tiers, and with the reason. A few
// sandboxes that were made ahead may still be there for new ones. On this file system
// directories take room, as on most disks.
func TestOnAFullDiskOnlyNewSessionsAreRefused(t *testing.T) {
	onSmallDisk(t, `truncate -s 64M "$2" && mkfs.ext4 -q -m 0 "$2" && mount -o loop "$2" "$1"`, func(t *testing.T, disk string) {
		for _, tier := range tiers {
			b := newBox(t, tier, func(b *box, o *Options) { b.temp, o.Temp = disk, disk })
			b.in("first", "echo x > $TMPDIR/file")
			if used, _ := b.temporaryBytes(b.sandboxOf("first"), nil, nil); used >= sandboxBytes/2 {
				t.Errorf("%s: a session has %d bytes of temporary files", tier, used)
			}
			b.settle()
			filler := fill(t, disk)
			b.settle()
			var err error
			for i := 0; err == nil && i <= maxPrewarmed; i++ {
				_, err = b.run(Command{Session: tipstaff.SessionID(fmt.Sprint("new ", i)), Dir: b.ws}, "echo fine")
			}
			if !errors.Is(err, ErrFull) || !errors.Is(err, unix.ENOSPC) {
				t.Errorf("%s: a new session: %v", tier, err)
			}
			if o := b.in("first", "echo fine; rm $TMPDIR/file"); o.ExitCode != 0 || o.text != "fine\n" {
				t.Errorf("%s: in the first session: %q", tier, o.text)
			}
			if err := os.Remove(filler); err != nil {
				t.Error(err)
			}
			if o := b.in("newer", "echo fine"); o.text != "fine\n" {
				t.Errorf("%s: with room again: %q", tier, o.text)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := filepath.Glob(disk + "/" + scratchPrefix + "*"); len(left) > 0 {
				t.Errorf("%s: %q are left", tier, left)
			}
		}
	})
}

func TestOnlyAFullDiskIsCalledFull(t *testing.T) {
	onSmallDisk(t, `mount -t tmpfs -o size=16m tmpfs "$1"`, func(t *testing.T, disk string) {
		s := &scratch{dir: disk}
		if err := s.explainFull(unix.ENOSPC); !errors.Is(err, unix.ENOSPC) || errors.Is(err, ErrFull) {
			t.Errorf("there is room: %v", err)
		}
		fill(t, disk)
		if err := s.explainFull(unix.ENOSPC); !errors.Is(err, unix.ENOSPC) || !errors.Is(err, ErrFull) {
			t.Errorf("there is no room: %v", err)
		}
		if err := s.explainFull(unix.ENOENT); !errors.Is(err, unix.ENOENT) || errors.Is(err, ErrFull) {
			t.Errorf("another fault: %v", err)
		}
		if err := s.explainFull(nil); err != nil {
			t.Error(err)
		}
	})
}
