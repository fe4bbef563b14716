package programs

import (
	"maps"
	"slices"
	"strings"
)

// Reading is the meaning of the arguments of one program.
type Reading struct {
	Acts []Act  // in the order of the arguments
	Bare bool   // a wrapper without a command
	Text []bool // for each argument: it is text, which is never passed to a shell
}

// Act is something that a program would do because of its arguments. The caller
// judges its effect.
type Act struct {
	Kind ActKind
	Start
	Text     string   // the line, variable, setting or code; for Refused the part that shows it
	Of       string   // of Code: the language; of Refused: why, continuing "args[1] …, "
	More     []string // arguments after the line
	Table    *Program // the table by which it was read
	FromName bool     // of Sets: the value is in a variable
}

// ActKind is the kind of an act.
type ActKind int

// The kinds of acts. The zero one is refused.
const (
	Refused   ActKind = iota
	Starts            // the words of Start
	RunsLine          // Text, through a shell or a splitter like one
	RunsValue         // the same, unless it is empty, cat or the like
	PutsInEnv         // Text is NAME=value of an environment
	Sets              // Text is KEY=value
	SetsNamed         // the same, but only settings that name programs count
	RunsCode          // Text is a program in the language Of
)

// Start is a command line that a program would start, and what is known about
// it.
type Start struct {
	Words []string
	By    string // what would start it, such as "git clone --upload-pack"
	Index int    // the argument of the whole command that contains it; -1: none
	InOne bool   // that argument contains all of it

	Itself             bool     // the program may start it in any case
	Project, Workspace bool     // how much of it is not examined
	Moved              bool     // it runs in another directory
	Open               bool     // more arguments come from the program's input
	Holes              []string // placeholders that input replaces
	Options            []string // those of them that may be replaced by options
}

// Position says where arguments stand in the whole command: from an index on, or
// all of them in the argument with that index.
type Position struct {
	Index int
	InOne bool
}

// Of returns the index of the ith argument.
func (p Position) Of(i int) int {
	if p.InOne {
		return p.Index
	}
	return p.Index + i
}

// Read reads what a program does with args, which stand at a place. In a
// program that is not in the table, only values of the options of "*" can be
// text.
func Read(name string, args []string, at Position) Reading {
	table := Versioned(name)
	if table == nil {
		table = &Program{}
	}
	text := make([]bool, len(args))
	r := newReader(table, name, args, at, text)
	r.read()
	r.out.Text = text
	return r.out
}

// Grammar reports for each argument of a program whether it is a word of the
// program's own grammar, such as {} of find.
func Grammar(name string, args []string) []bool {
	text := make([]bool, len(args))
	if table := Find(name); table != nil {
		for i, arg := range args {
			text[i] = slices.Contains(table.Operands.Grammar, arg)
		}
	}
	return text
}

// reader reads the arguments of one program by its table.
type reader struct {
	*Program
	by   string // the program, and its subcommand
	args []string
	base Position
	text []bool
	at   int

	out         Reading
	skip        int // operands that still come before the command
	options     bool
	asIs        bool // not joined
	ended       bool // no command is started
	commanded   bool // an option contained the command
	moved       bool
	holes       []string
	doubtful    int      // an argument that is either an option or the value of one
	valueAt     int      // an argument that may be the value of an unknown option
	seenOptions []string // options so far
	operands    []operand
}

// operand is an argument that is not an option, and its index in args.
type operand struct {
	text string
	at   int
}

func newReader(p *Program, by string, args []string, base Position, text []bool) *reader {
	r := &reader{Program: p, by: by, args: args, base: base, text: text, options: true, doubtful: -1, valueAt: -1}
	if p.Wrapper != nil {
		r.skip = p.Wrapper.After
	}
	return r
}

func (r *reader) read() {
	for i, arg := range r.args {
		r.text[i] = r.text[i] || slices.Contains(r.Operands.Grammar, arg)
	}
	if r.Style.Old && len(r.args) > 0 && !strings.HasPrefix(r.args[0], "-") {
		r.oldOptions()
	}
	for ; r.at < len(r.args); r.at++ {
		if done := r.word(r.args[r.at]); done {
			return
		}
	}
	r.finish()
}

// word reads one argument. It reports whether it has read all further arguments
// as well.
func (r *reader) word(arg string) (done bool) {
	switch {
	case r.Wrapper != nil && r.Wrapper.Of != "" && r.Wrapper.all && r.skip == 0 && arg != "--":
		r.start(r.at) // the options are those of the program
		return true
	case !r.options, len(arg) < 2 || arg[0] != '-':
		return r.operand(arg)
	case arg == "--" && r.Wrapper != nil && r.Wrapper.Dashdash:
		r.start(r.at + 1)
		return true
	case arg == "--":
		r.options = false
	case r.Wrapper != nil && r.Wrapper.Digits && strings.Trim(arg[1:], "0123456789") == "":
	default:
		return r.option(arg)
	}
	return false
}

// operand reads an argument that is not an option.
func (r *reader) operand(arg string) (done bool) {
	w := r.Wrapper
	switch {
	case r.Subcommands != nil && r.at == r.valueAt && r.Subcommands[arg] == nil && r.hasSubcommandAfter(r.at):
		// The value of an option that is not in the table, as far as can be told.
	case r.Subcommands != nil:
		r.subcommand(arg)
		return true
	case w == nil:
		r.operands = append(r.operands, operand{arg, r.at})
		r.options = r.options && !r.Style.Early
	case arg == "-" && r.options: // env - and su - give it another meaning
	case w.Assigns && strings.Contains(arg, "=") && arg[0] != '/': // sudo treats a word that begins with a slash as a program
		r.act(Act{Kind: PutsInEnv, Text: arg}, r.by, r.at)
	case w.Dashdash, r.skip > 0 && (r.Operands.Optional == nil || slices.Contains(r.Operands.Optional, arg)):
		r.skip--
		r.options = r.options && (w.Permute || w.Dashdash)
	default:
		r.start(r.at)
		return true
	}
	return false
}

func (r *reader) hasSubcommandAfter(at int) bool {
	return slices.ContainsFunc(r.args[at+1:], func(arg string) bool { return r.Subcommands[arg] != nil })
}

// subcommand continues with the table of a subcommand, or with an empty one:
// options of the program do not apply to a subcommand, unless the program's
// style inherits them.
func (r *reader) subcommand(arg string) {
	sub := r.Subcommands[arg]
	if sub == nil {
		sub = r.Subcommands["*"]
	}
	if sub == nil {
		sub = &Program{}
	}
	merged := *sub
	if r.Style.Inherits {
		merged.Options = maps.Clone(r.Options)
		maps.Copy(merged.Options, sub.Options)
		merged.Style.Inherits = true
	}
	if merged.Settings == nil {
		merged.Settings, merged.Safe = r.Settings, r.Safe
	}
	if merged.Itself == nil {
		merged.Itself = r.Itself
	}
	merged.Shells = r.Shells
	merged.Style.Single = merged.Style.Single || r.Style.Single
	merged.Style.Whole = r.Style.Whole
	rest := newReader(&merged, r.by+" "+arg, r.args[r.at+1:], Position{r.base.Of(r.at + 1), r.base.InOne}, r.text[r.at+1:])
	rest.read()
	r.out.Acts = append(r.out.Acts, rest.out.Acts...)
	r.out.Bare = rest.out.Bare
}

// start takes the rest as the command line of the wrapped program.
func (r *reader) start(at int) {
	words := r.args[at:]
	if len(words) == 0 {
		r.finish()
		return
	}
	if r.Wrapper.Exact {
		r.inner(at)
	}
	if r.Wrapper.Appends {
		if end := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, ":::") }); end >= 0 {
			words = words[:end] // for GNU parallel: arguments, not the command
		}
	}
	if r.Wrapper.Joined && !r.asIs {
		r.line(RunsLine, r.by, strings.Join(words, " "), at)
		return
	}
	if r.Wrapper.Of != "" {
		r.act(Act{Kind: Starts, Start: Start{Words: append([]string{r.Wrapper.Of}, words...), Itself: true}}, r.by, at-1)
		return
	}
	r.act(Act{Kind: Starts, Start: Start{Words: words, Open: r.appends()}}, r.by, at)
}

// inner finds the text in a command line whose arguments are passed on
// unchanged.
func (r *reader) inner(at int) {
	if at < len(r.args) {
		r.innerOf(r.args[at], at+1)
	}
}

// innerOf finds the text in the arguments of a program, which begin at an index.
func (r *reader) innerOf(name string, at int) {
	table := Find(name)
	if table == nil {
		table = &Program{}
	}
	newReader(table, name, r.args[at:], Position{}, r.text[at:]).read()
}

func (r *reader) appends() bool { return r.Wrapper != nil && r.Wrapper.Appends }

// finish handles what remains when the arguments contained no command line.
func (r *reader) finish() {
	r.textOperands()
	if r.ended {
		return
	}
	r.out.Bare = r.Wrapper != nil && !r.commanded
	if r.Never != "" {
		r.refuse(r.by, r.Never, -1)
	}
	if r.out.Bare && r.Wrapper.Shell {
		r.refuse(r.by, "without a command it starts a shell", -1)
	}
	r.finishOperands()
}

// textOperands marks the operands that are text.
func (r *reader) textOperands() {
	o := &r.Operands
	for i, operand := range r.operands {
		if o.Text || o.FirstText && i == 0 && !r.hasOption(o.TextNot) {
			r.text[operand.at] = true
		}
	}
}

// hasOption reports whether one of these options was there.
func (r *reader) hasOption(options []string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return slices.Contains(r.seenOptions, o) })
}

// finishOperands judges the operands.
func (r *reader) finishOperands() {
	o := &r.Operands
	for i, operand := range r.operands {
		for _, text := range o.Begins {
			if strings.HasPrefix(operand.text, text) {
				r.refuse(operand.text, "it decides what "+r.by+" starts", operand.at)
			}
		}
		for _, text := range o.Contains {
			if strings.Contains(strings.ToLower(operand.text), text) {
				r.refuse(operand.text, "it makes "+r.by+" start something", operand.at)
			}
		}
		if o.Code != "" && !r.hasOption(o.CodeNot) && (o.EachCode || i == 0) {
			r.act(Act{Kind: RunsCode, Text: operand.text, Of: o.Code}, r.by, operand.at)
		}
		if o.Line {
			r.line(RunsLine, r.by, operand.text, operand.at)
		}
		if o.Program && i == 0 {
			r.act(Act{Kind: Starts, Start: Start{Words: []string{operand.text}, Workspace: true}}, r.by, operand.at)
		}
		switch {
		case !o.Setting && !o.Assignment:
		case strings.Contains(operand.text, "="):
			r.act(Act{Kind: SetsNamed, Text: operand.text}, r.by, operand.at)
		case o.Setting && i+1 < len(r.operands): // KEY value
			next := r.operands[i+1]
			r.act(Act{Kind: SetsNamed, Text: operand.text + "=" + next.text}, r.by, next.at)
		}
	}
}

// act adds an act of the argument with index at, -1 for none.
func (r *reader) act(a Act, by string, at int) {
	a.By, a.Table = by, r.Program
	a.Index = at
	if at >= 0 {
		a.Index = r.base.Of(at)
	}
	if !r.Style.Prefixes {
		a.Options = slices.Concat(r.holes, a.Holes)
	}
	a.Holes = slices.Concat(r.holes, a.Holes)
	a.Moved = a.Moved || r.moved
	if r.Wrapper != nil {
		a.Project, a.Workspace = a.Project || r.Wrapper.Project, a.Workspace || r.Wrapper.Workspace
	}
	if a.Kind != Starts || len(a.Words) > 0 {
		r.out.Acts = append(r.out.Acts, a)
	}
}

// line takes text as a command line, with more arguments behind it.
func (r *reader) line(does ActKind, by, text string, at int, more ...string) {
	r.act(Act{Kind: does, Text: text, More: more, Start: Start{InOne: true, Open: r.appends()}}, by, at)
}

func (r *reader) refuse(found, why string, at int) {
	r.act(Act{Kind: Refused, Text: found, Of: why}, r.by, at)
}
