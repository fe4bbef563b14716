//go:build linux

package interp

import (
	"strconv"
	"strings"
)

// signals are the names of Linux's signals, by their numbers.
var signals = strings.Fields("EXIT HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS")

// signalNumber reads TERM, SIGTERM or 15.
func signalNumber(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, n >= 0 && n <= 64
	}
	text = strings.TrimPrefix(strings.ToUpper(text), "SIG")
	for n, name := range signals {
		if name == text {
			return n, true
		}
	}
	return 0, false
}

// ends reports whether a signal ends a process that does not care for it.
func ends(n int) bool {
	switch n {
	case 17, 18, 19, 20, 21, 22, 23, 28: // CHLD, CONT, STOP, TSTP, TTIN, TTOU, URG, WINCH
		return false
	}
	return true
}
