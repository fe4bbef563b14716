package spool

// Stream names the streams of a command: one of them, or both.
type Stream uint8

const (
	// Both is what a reader asks for who wants everything. It is no stream that
	// can be written.
	Both Stream = iota
	Stdout
	Stderr
)

// has reports whether a reader of s reads what came on stream one.
func (s Stream) has(one Stream) bool { return s == Both || s == one }

// String returns the name of the stream.
func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	default:
		return "both"
	}
}
