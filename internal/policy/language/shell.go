package language

import "fmt"

// ShellMode is what scripts may do. The order is the strictness: the zero mode
// runs none.
type ShellMode int

const (
	ShellOff   ShellMode = iota // no script runs
	ShellRead                   // redirections open no file for writing
	ShellWrite                  // they do where the sandbox allows it
)

// String returns the word that settings use.
func (m ShellMode) String() string {
	switch m {
	case ShellRead:
		return "read"
	case ShellWrite:
		return "write"
	default:
		return "off"
	}
}

// ParseShellMode reads a mode as settings and policy files write it.
func ParseShellMode(text string) (ShellMode, error) {
	for _, m := range []ShellMode{ShellOff, ShellRead, ShellWrite} {
		if m.String() == text {
			return m, nil
		}
	}
	return ShellOff, fmt.Errorf("%q is not a mode of the shell: off, read or write", cut(text))
}

// Shell says whether scripts run. It is written as a mode alone, or as a mapping.
type Shell struct {
	Mode      Text `key:"mode" bare:"true" required:"true" enum:"off,read,write" doc:"off: no scripts. read: a script opens no file for writing. write: it does where the sandbox allows it."`
	OnRefusal Text `key:"on_refusal" enum:"stop,continue" doc:"What a script does when one of its commands is refused while it runs: it ends, or goes on as after a command that failed."`
}

// ShellMode returns the mode that the file sets; false if it sets none.
func (p *Policy) ShellMode() (ShellMode, bool) {
	m, err := ParseShellMode(p.File.Shell.Mode.Value)
	return m, err == nil && p.File.Shell.Mode.At.Set()
}

// sinks are what commands in every mode may write to.
var sinks = map[string]bool{"/dev/null": true, "/dev/stdout": true, "/dev/stderr": true}

// Sink reports whether writing to a path changes no file.
func Sink(path string) bool { return sinks[path] }
