package worker

const (
	// Argument is the only argument of this program when it is to be a script process.
	Argument = "__script-process"
	// Descriptor is where its socket is.
	Descriptor = 3
)
