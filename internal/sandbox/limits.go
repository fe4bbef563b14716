package sandbox

import "time"

// ResourceLimits bound what one command may use. 0 is no limit of tipstaff's own.
type ResourceLimits struct {
	MemoryBytes int64         // of a command; without a bounded control group, of data for each process
	Processes   int           // of a command, threads included
	CPU         time.Duration // for each process of a command; whole seconds
	FileBytes   int64         // of each file that is written
	OpenFiles   int           // in each process
	// TemporaryBytes bounds the temporary files of a session sandbox. 0 is no lack of
	// a limit here: 2 GiB, or a tenth of what is free if that is less.
	TemporaryBytes int64
}
