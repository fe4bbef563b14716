package programs

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed table/*.txt
var tableFiles embed.FS

// Program is what is known of one program, or of one of its subcommands. It is
// read only. The zero Program is one of which nothing is known.
type Program struct {
	// Names are all names under which the same is known.
	Names []string

	// Interpreter: it runs what it is given or finds. So does a wrapper.
	Interpreter bool
	// Shells: it hands its arguments to shells, so that none of them is text
	// unless its own rows say so.
	Shells bool
	// Fetches: it waits for other hosts, for minutes and without a word.
	Fetches bool
	// Containers: what stands behind a long option of its is a container's name, an
	// image or the like, and no program.
	Containers bool

	Style   Style
	Aliases map[string]string // other names of subcommands → the name in rules

	Never       string // why it cannot be judged at all; "" if it can
	Wraps       *Wraps // nil: its operands are no command line
	Options     map[string]Option
	Operands    Operands
	Safe        []string // keys of settings that are harmless
	Settings    []string // keys of settings that name programs
	Itself      []string // programs that it starts anyway
	Subcommands map[string]*Program

	Secrets map[string]Secret // by option, with its dashes
	Words   []SecretWord
	Marks   []string // words and letters that those two go by

	starts bool
}

// Style is how a program writes its options.
type Style struct {
	Single      bool // -exec is one option
	Old         bool // the first operand may be options
	Early       bool // there are no options behind an operand
	Inherits    bool // options count behind a subcommand too
	Subcommands bool // the first word says what to do
	Abbreviates bool // and may be abbreviated
	Prefixes    bool // what is put in for {} begins with a directory
}

// Wraps says how operands are a command line.
type Wraps struct {
	After              int // operands of the wrapper's own in front of it
	Permute, Dashdash  bool
	Assigns, Joined    bool
	Appends, Shell     bool
	Digits             bool
	Project, Workspace bool
	Exact              bool
}

// Trusted: programs of the project or the workspace are not looked at, and
// neither are unknown options.
func (w *Wraps) Trusted() bool { return w.Project || w.Workspace }

// Operands says what arguments can be that are no options.
type Operands struct {
	Setting, Assignment, Program, Line bool

	Code     string // a language
	EachCode bool   // all of them, not only the first
	CodeNot  []string

	Text, FirstText bool
	TextNot         []string // options with which the first is no text

	Optional, Begins, Contains, Grammar []string
}

// act reports whether operands can make the program start others.
func (o *Operands) act() bool {
	return o.Setting || o.Assignment || o.Program || o.Line || o.Code != "" || len(o.Begins)+len(o.Contains) > 0
}

// Kind says what an option does, or what its value is. Of several that an
// abbreviation could mean, the greatest counts.
type Kind int

// The kinds are the rows of the tables; doc.go explains them.
const (
	Unknown Kind = iota
	Flag
	Perhaps
	Value
	Value2
	Maybe
	ValueProgram
	MaybeProgram
	Splits
	Until
	UntilMoved
	Hole
	MaybeHole
	Variable
	Moves
	Plain
	Ends
	Needs
	Refuse
	MaybeRefuse
	Setting
	SettingEnv
	Code
	Module
)

// takesValue reports whether an option of this kind is followed by its value.
func (k Kind) takesValue() bool {
	switch k {
	case Value, Value2, ValueProgram, Splits, Hole, Variable, Moves, Setting, SettingEnv, Code:
		return true
	}
	return false
}

// Option is an option with what the table says beside its kind.
type Option struct {
	Kind Kind
	Of   string // the program that is needed, or the language of the code
	Text bool   // the value is text, which no shell gets to see
	Last bool   // and so is everything behind it
}

// acts reports whether the option can make the program start others.
func (o Option) acts() bool {
	switch o.Kind {
	case ValueProgram, MaybeProgram, Splits, Until, UntilMoved, Variable, Needs, Refuse, MaybeRefuse, Setting, SettingEnv, Code:
		return true
	}
	return false
}

// Secret says which part of an option's value is secret.
type Secret struct {
	Rule   string // what is hidden, as pass or token; "" for nothing
	Shape  string // how it stands in the value; "" for all of it
	Behind string // only behind this word
	Glued  bool   // only in the same argument
}

// SecretWord says which arguments are secret that are no values of options.
type SecretWord struct {
	Secret
	Follows []string // what stands behind one of these words
	Rest    bool     // everything that does
	// Or the Nth operand; 0 for each.
	Nth      int
	Required []string // if all of these words and letters were there
}

// Find gives what is known of a program by the name in a command line, or nil.
func Find(name string) *Program { return tables()[name] }

var tables = sync.OnceValue(func() map[string]*Program {
	all, err := readTables()
	if err != nil {
		panic(err) // a test reads them
	}
	return all
})

func readTables() (map[string]*Program, error) {
	all := map[string]*Program{}
	files, err := tableFiles.ReadDir("table")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := tableFiles.ReadFile("table/" + f.Name())
		if err == nil {
			err = parse(all, string(text))
		}
		if err != nil {
			return nil, fmt.Errorf("table/%s: %w", f.Name(), err)
		}
	}
	for _, p := range all {
		p.starts = p.starting()
	}
	return all, nil
}

// Starting names the programs that may start others by their arguments.
func Starting() []string {
	var names []string
	for name, p := range tables() {
		if p.starts {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Starter is [Find] for programs that may start others by their arguments.
func Starter(name string) *Program {
	if p := Find(name); p != nil && p.starts {
		return p
	}
	return nil
}

// Interpreter reports whether a program, whichever its path and version, runs
// what it is given or finds, so that a list of allowed programs is no boundary
// for it.
func Interpreter(name string) bool {
	p := Find(PlainName(name))
	return p != nil && (p.Interpreter || p.Wraps != nil || p.Never != "")
}

// Fetches reports whether a program waits for other hosts.
func Fetches(name string) bool {
	p := Find(path.Base(name))
	return p != nil && p.Fetches
}

// PlainName takes the directory and the version off a name: /usr/bin/python3.11
// is python. Only what denies may go by it.
func PlainName(name string) string {
	base := path.Base(name)
	if trimmed := strings.TrimRight(base, "0123456789.-"); trimmed != "" {
		return trimmed
	}
	return base
}

// Secretive reports whether the program has ways of its own with secrets.
func (p *Program) Secretive() bool { return len(p.Secrets)+len(p.Words) > 0 }
