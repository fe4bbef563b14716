package worker

import (
	"fmt"
	"os"
)

// A script process lives and ends here, before main. What the rest of the program
// needs (HTTP, metrics, the protocol) is initialized after this package, and that
// takes a quarter of the time until a script process is ready.
func init() { //nolint:gochecknoinits // see above
	if len(os.Args) != 2 || os.Args[1] != Argument {
		return
	}
	if err := Main(Descriptor); err != nil {
		fmt.Fprintf(os.Stderr, "tipstaff: script process: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0)
}
