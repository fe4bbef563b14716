//go:build linux && (amd64 || arm64)

package proc

import (
	"io"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAZygoteThatIsGoneIsReplaced: commands run although the zygote of the next
// one was killed. Where it was to make that, it does not stay as a zombie either.
func TestAZygoteThatIsGoneIsReplaced(t *testing.T) {
	for name, e := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			first, _ := spawn(t, e, "true")
			first.Status()
			first.End(0)
			settle()
			in := first.instance.in
			for len(in.ready) > 1 {
				(<-in.ready).end()
			}
			i := <-in.ready
			zygote, err := unix.PidfdOpen(i.zygote.pid, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer closeFDs([]int{zygote})
			if err := unix.PidfdSendSignal(zygote, unix.SIGKILL, nil, 0); err != nil {
				t.Fatal(err)
			}
			ended := []unix.PollFd{{Fd: int32(zygote), Events: unix.POLLIN}}
			if n, err := unix.Poll(ended, 10_000); n != 1 || err != nil {
				t.Fatalf("the zygote does not end: %d, %v", n, err)
			}
			in.ready <- i
			for range 3 {
				p, out := spawn(t, e, "sh", "-c", "echo x")
				text, _ := io.ReadAll(out)
				if st := p.Status(); st.ExitCode != 0 || st.Signal != 0 || st.Err != nil || string(text) != "x\n" {
					t.Errorf("a command ended as %+v and printed %q", st, text)
				}
				p.End(0)
			}
			settle()
			if _, _, there := stat(i.zygote.pid); there && confinementOf(e) != nil {
				t.Error("the zygote is left")
			}
		})
	}
}
