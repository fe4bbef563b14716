//go:build unix

package flock

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestALockEndsWhenItsFileIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	first, second := open(t, path), open(t, path)
	if err := Try(first); err != nil {
		t.Fatal(err)
	}
	if err := Try(first); err != nil {
		t.Error("who has a lock has it:", err)
	}
	if err := Try(second); !errors.Is(err, ErrLocked) {
		t.Fatal("two have it:", err)
	}
	_ = first.Close()
	if err := Try(second); err != nil {
		t.Error("it did not end:", err)
	}
	if err := Try(first); err == nil || errors.Is(err, ErrLocked) {
		t.Error("locked a closed file:", err)
	}
}

func TestALockIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	first, second := open(t, path), open(t, path)
	if err := Try(first); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(time.Minute, func() { _ = first.Close() })
		begin := time.Now()
		if err := Lock(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < time.Minute || took > time.Minute+lastPause {
			t.Error("it took", took)
		}
	})
}

func TestAContextEndsTheWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	first, second := open(t, path), open(t, path)
	if err := Try(first); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the server ends")
		ctx, end := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { end(why) })
		if err := Lock(ctx, second); !errors.Is(err, why) {
			t.Error(err)
		}
	})
}

func TestDirectoriesAreLockedButNoLinksAndNoFiles(t *testing.T) {
	dir := t.TempDir()
	link, file := filepath.Join(dir, "link"), filepath.Join(dir, "file")
	if err := errors.Join(os.Symlink(dir, link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := LockDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryDir(dir); !errors.Is(err, ErrLocked) {
		t.Error("two have it:", err)
	}
	_ = f.Close()
	for _, path := range []string{link, file, filepath.Join(dir, "none")} {
		if f, err := TryDir(path); err == nil {
			_ = f.Close()
			t.Error("locked", path)
		}
	}
	again, err := TryDir(dir)
	if err != nil {
		t.Fatal("a failure kept the lock:", err)
	}
	_ = again.Close()
}

func TestTheLockOfAKilledProcessEnds(t *testing.T) {
	const variable = "FLOCK_TEST_FILE"
	if path := os.Getenv(variable); path != "" { // the process that is killed
		if err := Try(open(t, path)); err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString("locked\n")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	path := filepath.Join(t.TempDir(), "file")
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=1m")
	other.Env = append(os.Environ(), variable+"="+path)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Error(line, err)
	}
	f := open(t, path)
	if err := Try(f); !errors.Is(err, ErrLocked) {
		t.Error("its process lives:", err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	if err := Try(f); err != nil {
		t.Error("its process is dead:", err)
	}
}
