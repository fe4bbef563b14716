//go:build linux

package sandbox

// tracingWords are in what debuggers print when they may not trace.
var tracingWords = []string{"ptrace", "inferior", "could not launch process", "could not attach", "leaksanitizer", "perf_event", "process_vm_"}

var (
	noTracing = newPattern(`(?i)ptrace.*(not permitted|permission denied|EPERM)|could not trace the inferior|` +
		`could not (launch process|attach to pid).*(not permitted|permission|security setting)|process_vm_(read|write)v.*not permitted`)
	noLeakCheck = newPattern(`LeakSanitizer (has encountered a fatal error|does not work under ptrace)`)
	noCounters  = newPattern(`(?i)perf_event_(open|paranoid)`)
)

// whyNoTracing explains what the filter of system calls refuses to debuggers.
func (c *Confined) whyNoTracing(p remark) string {
	switch {
	case noTracing.Match(p.line):
		return "the sandbox lets no command trace another process (ptrace), and no setting changes that: strace, gdb and delve do not work here. Use logs, prints, the program's own traces or a debugger inside the program (pdb, node inspect), or leave this step to a person."
	case noLeakCheck.Match(p.line):
		return "the sandbox lets no command trace another process (ptrace), which LeakSanitizer needs: run with ASAN_OPTIONS=detect_leaks=0."
	case noCounters.Match(p.line):
		return "the sandbox gives commands no counters of the kernel (perf_event_open), and no setting changes that: use a profiler inside the program."
	}
	return ""
}
