package protected

// Kind says what commands are kept from doing with a file. The zero Kind is the
// strictest.
type Kind int

const (
	// Secret files are hidden: commands can neither read nor write them.
	Secret Kind = iota
	// Steering files affect decisions, and may be read. In a writable
	// directory, only mounts can keep them unchanged; without mounts such a
	// file can be written, and then it is not read again.
	Steering
	// ReadOnly directories are written by tipstaff and not read again. Commands may
	// read them, but must never be able to write them.
	ReadOnly
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Secret:
		return "secret"
	case Steering:
		return "steering"
	case ReadOnly:
		return "kept"
	default:
		return "unknown"
	}
}

// File is one of tipstaff's own files.
type File struct {
	Path    string // absolute
	Setting string // the setting that names it, such as TIPSTAFF_TOKENS_FILE
	Kind    Kind
	// Dir says that it is a directory, and that everything in it is of this
	// kind.
	Dir bool
	// Socket says that tipstaff communicates there and reads no file.
	Socket bool
	Why    string // a reason, such as "it decides what may run"
}

// Location is where a [File], or a part of it, is now.
type Location struct {
	Path string // canonical
	Dir  bool
	Kind Kind
	Why  string
	// Name is the path by which the setting names the file. Another file may be
	// there now.
	Name string
}
