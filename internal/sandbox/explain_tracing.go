//go:build linux

package sandbox

import (
	"golang.org/x/sys/unix"

	"tipstaff/internal/proc"
)

// traceMe answers a process that asks to be traced by its parent. A command's first
// process is the server's child: the kernel would report its stops to the server, as if
// they were its end. All else Landlock decides: a process traces only processes of its own
// domain and of those made in it, so none outside of its command.
//
// A process whose parent ends right after the look may become the server's child in the
// Landlock tier. It then stops at its next signal until its command ends; the server
// waits for no such child.
func (sess *sessionSandbox) traceMe(c proc.Call) {
	if c.OfChild() {
		sess.refuse(refusal{why: "The first process of a command asked to be traced (PTRACE_TRACEME), and its parent is the server, which traces nothing: start the program by a debugger, or by a shell."})
		c.Return(unix.EPERM)
		return
	}
	c.Continue()
}

// tracingWords are in what debuggers print when they may not trace.
var tracingWords = []string{"ptrace", "inferior", "could not launch process", "could not attach", "leaksanitizer", "perf_event", "process_vm_"}

var (
	noTracing = newPattern(`(?i)ptrace.*(not permitted|permission denied|EPERM|no such process)|could not trace the inferior|` +
		`could not (launch process|attach to pid).*(not permitted|permission|security setting|no such process)|process_vm_(read|write)v.*(not permitted|no such process)`)
	noLeakCheck = newPattern(`LeakSanitizer (has encountered a fatal error|does not work under ptrace)`)
	noCounters  = newPattern(`(?i)perf_event_(open|paranoid)`)
)

// whyNoTracing explains what the sandbox refuses to debuggers.
func (c *Confined) whyNoTracing(p remark) string {
	traces := c.session.settings.traces
	switch {
	case noTracing.Match(p.line) && traces:
		return "the sandbox lets a command trace only processes that this command has started, none of another call or of another command of a script: start program and debugger in one command (strace ./prog, gdb --args ./prog, or sh -c with both)."
	case noTracing.Match(p.line):
		return "the sandbox lets no command trace another process (ptrace) on this kernel, which lacks Landlock or cannot ask the server: strace, gdb and delve do not work here. Use logs, prints, the program's own traces or a debugger inside the program (pdb, node inspect), or leave this step to a person."
	case noLeakCheck.Match(p.line) && !traces:
		return "the sandbox lets no command trace another process (ptrace), which LeakSanitizer needs: run with ASAN_OPTIONS=detect_leaks=0."
	case noCounters.Match(p.line):
		return "the sandbox gives commands no counters of the kernel (perf_event_open), and no setting changes that: use a profiler inside the program."
	}
	return ""
}
