//go:build linux && !race

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a program that runs on a machine, and can be started again there.
type process struct {
	t    *testing.T
	on   *machine
	argv []string
	env  []string
	dir  string
	log  string // a file to which each start appends

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	why   error
}

// start starts it. Two starts at once are a fault of the test.
func (p *process) start() {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(p.t, err)
	defer func() { _ = log.Close() }()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(p.t, p.on.start(cmd))
	ended := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.ended = cmd, ended
	p.mu.Unlock()
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.why = err
		p.mu.Unlock()
		close(ended)
	}()
}

// signal sends a signal to this process alone, as a machine's kernel or an
// operator would.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(p.pid(), s); err != nil {
		p.t.Errorf("%s: %v: %v", p.name(), s, err)
	}
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

func (p *process) name() string { return p.on.name }

// kill ends it at once and waits until it is gone.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.gone()
}

// stop asks it to end, and kills it when it does not within the limit, which is
// a failure.
func (p *process) stop(within time.Duration) {
	p.t.Helper()
	if !p.alive() {
		return
	}
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGCONT) // it may have been stopped by a test that failed
	select {
	case <-p.gone():
	case <-time.After(within):
		p.t.Errorf("%s has not ended within %v of SIGTERM\n%s", p.name(), within, p.tail(20))
		p.kill()
	}
}

func (p *process) gone() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

func (p *process) alive() bool {
	if p.gone() == nil {
		return false // never started
	}
	select {
	case <-p.gone():
		return false
	default:
		return true
	}
}

// count is how many lines of its log have a text in them.
func (p *process) count(text string) (n int) {
	data, _ := os.ReadFile(p.log) // none before the first start
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// tail is the end of its log.
func (p *process) tail(lines int) string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return fmt.Sprintf("%s says:\n%s", p.name(), strings.Join(all[max(0, len(all)-lines):], "\n"))
}
