package own

// Kind says what commands are kept from. The zero Kind is the strictest.
type Kind int

const (
	// Secret files are hidden: commands neither read nor write them.
	Secret Kind = iota
	// Steering files decide something, and may be read. Where only the kernel's
	// mounts can keep a file of a writable directory as it is, and there are none,
	// such a file can be written; then it is not read again.
	Steering
	// Kept directories are written by tipstaff and not read again. Commands may
	// read them; they are kept from writing at whatever price.
	Kept
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case Secret:
		return "secret"
	case Steering:
		return "steering"
	case Kept:
		return "kept"
	default:
		return "unknown"
	}
}

// File is one of tipstaff's own.
type File struct {
	Path    string // absolute
	Setting string // which names it, as TIPSTAFF_TOKENS_FILE
	Kind    Kind
	// Dir says that it is a directory and all in it is of this kind.
	Dir bool
	// Socket says that tipstaff meets others there and reads no file.
	Socket bool
	Why    string // as "it decides what may run"
}

// Place is where something of a [File] is now.
type Place struct {
	Path string // canonical
	Dir  bool
	Kind Kind
	Why  string
	// Name is the path by which the setting names the file. Something else may
	// stand there by now.
	Name string
}
