package proc

import (
	"os"

	"tipstaff"
)

// Launch says how to start a program. Every field is used as it is.
type Launch struct {
	Path string   // absolute path of the program's file
	Argv []string // its name first; never empty
	Env  []string // the whole environment, each "NAME=value"
	Dir  uintptr  // descriptor of the directory to start in, open until Start returns
	// DirPath names the same directory, without links. It counts where the
	// program enters namespaces: it has other mounts there than Dir.
	DirPath string
	// Confine is what the program is held to, with everything that it starts; nil:
	// to nothing. Many launches may have it at once. It stays open until the last
	// program has been ended.
	Confine *Enclosure
	// The program's standard streams. nil is /dev/null. Start does not close them.
	Stdin, Stdout, Stderr *os.File
}

// Status is how the program itself ended, exactly as the kernel told it. What
// the usage has of the command as a whole is there after [Process.End].
type Status struct {
	ExitCode   int    // valid when Signal is 0
	Signal     int    // the number of the signal that ended it, or 0
	SignalName string // its name, "SIGKILL"
	CoreDumped bool
	Usage      tipstaff.Usage
	// Err is set when the end could not be observed; then nothing else is valid.
	Err error
}

// Options are what an engine may use of the machine.
type Options struct {
	// StateDir is where servers keep their owner locks, so that the next one
	// finds what a dead one has left running. "": nothing is looked for.
	StateDir string
}

// Means says by what an engine starts and ends programs, for people.
type Means struct {
	Start  string // "vfork (clone3)", …
	End    string // "control group", …
	Reason string // why not by something better; "" when there is nothing better
}
