package proc

import "time"

// Load is what the processes of a command use at one moment.
type Load struct {
	Processes int
	// CPU is what they have used, with those of their children that they have waited
	// for.
	CPU time.Duration
	// Resident is the memory that they have, in bytes; what two of them share counts
	// for both.
	Resident int64
}

// Plus returns both together.
func (l Load) Plus(m Load) Load {
	return Load{l.Processes + m.Processes, l.CPU + m.CPU, l.Resident + m.Resident}
}
