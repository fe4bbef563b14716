//go:build linux

package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// inPlace lists ways to replace a file.
var inPlace = []struct {
	says string
	make func(w *workspace, at string)
}{
	{"a file", func(w *workspace, at string) { w.write(at, evilConfig) }},
	{"a link", func(w *workspace, at string) { w.write("x", evilConfig); w.Must(os.Symlink("x", w.At(at))) }},
	{"a link that leads nowhere", func(w *workspace, at string) { w.Must(os.Symlink("nowhere", w.At(at))) }},
	{"a link to itself", func(w *workspace, at string) { w.Must(os.Symlink("it", w.At(at))) }},
	{"a directory", func(w *workspace, at string) { w.write(at+"/pre-commit", "evil") }},
	{"an empty directory", func(w *workspace, at string) { w.Mkdir(at) }},
	{"a FIFO", func(w *workspace, at string) { w.Must(unix.Mkfifo(w.At(at), 0o600)) }},
	{"a socket", func(w *workspace, at string) { w.Must(w.socket(at)) }},
	{"a file of 2 MiB", func(w *workspace, at string) { w.write(at, strings.Repeat("[a]\n", 1<<19)) }},
	{"a file that claims a terabyte", func(w *workspace, at string) { w.write(at, ""); w.Must(os.Truncate(w.At(at), 1<<40)) }},
}

func (w *workspace) socket(at string) error {
	dir, err := os.Open(filepath.Dir(w.At(at)))
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(at))})
}

// TestWhateverTakesThePlace: whatever replaces a protected file is put back, and reading
// it never blocks.
func TestWhateverTakesThePlace(t *testing.T) {
	for _, item := range []struct {
		Item
		was map[string]string
	}{
		{fixed(), map[string]string{"it": "good"}},
		{config(), map[string]string{"it": plainConfig}},
		{absent(), nil},
		{Item{Path: "it", Kind: Pointer}, map[string]string{"it": "gitdir: elsewhere\n"}},
		{fixed(), map[string]string{"it/pre-commit": "good", "it/below/x": "good"}},
	} {
		for _, c := range inPlace {
			t.Run(fmt.Sprintf("%v %s %v", item.Kind, c.says, item.was), func(t *testing.T) {
				w := newWorkspace(t)
				for name, text := range item.was {
					w.write(name, text)
				}
				before := read(w.At("it"), 0)
				w.protect(item.Item)
				found, stopped := w.attack(func() {
					c.make(w, "new")
					w.Must(os.RemoveAll(w.At("it")))
					w.Must(os.Rename(w.At("new"), w.At("it")))
				})
				if now := read(w.At("it"), 0); !now.same(before) && !(c.says == "an empty directory" && now.form == directory) {
					t.Errorf("there is %v now", now)
				} else if now.same(before) && (found != "it" || !stopped) {
					t.Errorf("violations %q, stopped %v", found, stopped)
				}
				w.nothingBeside("it", "x")
			})
		}
	}
}

// nothingBeside fails where something is left over in the root.
func (w *workspace) nothingBeside(names ...string) {
	w.Helper()
	list, err := os.ReadDir(w.Root)
	w.Must(err)
	for _, one := range list {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+one.Name()+" ") {
			w.Errorf("%s is left", one.Name())
		}
	}
}

// asAnother runs something as an ordinary user, on a thread that ends with it.
func (w *workspace) asAnother(what func()) {
	w.Helper()
	if os.Getuid() != 0 {
		what()
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: it ends
		if err := withoutRights(); err != nil {
			done <- err
			return
		}
		what()
		done <- nil
	}()
	w.Must(<-done)
}

// withoutRights drops the capabilities by which root reads all files.
func withoutRights() error {
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// TestWhatMayNotBeRead: a file without permissions does not count as missing; it is put
// back. A directory without permissions is checked when they are restored.
func TestWhatMayNotBeRead(t *testing.T) {
	w := newWorkspace(t)
	w.write("it", "good")
	w.Mkdir("d")
	w.asAnother(func() {
		w.Must(os.Chmod(w.At("it"), 0))
		c := read(w.At("it"), 0)
		if c.form != unseen {
			t.Errorf("a file without rights is %v", c)
		}
		w.Must(os.Chmod(w.At("d"), 0))
		if c := read(w.At("d/config"), 0); c.form != unseen {
			t.Errorf("a file in a directory without rights is %v", c)
		}
		if c := read(w.At("d"), 0); c.form != unseen {
			t.Errorf("a directory without rights is %v", c)
		}
		w.Must(os.Chmod(w.At("d"), 0o700))
		it := &item{Item: fixed(), accepted: content{form: file, mode: 0o755, text: []byte("good"), sign: sign{size: 4}}}
		it.Path = w.At("it")
		if v := w.refuse(it, c, "why", nil, true); v.Fault != "" {
			t.Error(v)
		}
		w.says("it", "good")
		// A directory without rights that has taken the place of a file.
		it = &item{Item: fixed(), accepted: it.accepted}
		it.Path = w.At("other")
		w.write("other/below/x", "evil")
		w.Must(os.Chmod(w.At("other/below"), 0))
		w.Must(os.Chmod(w.At("other"), 0))
		if v := w.refuse(it, it.read(), "why", nil, true); v.Fault != "" {
			t.Error(v)
		}
		w.says("other", "good")
		w.nothingBeside("it", "other", "d")
	})
}
