package policy

import (
	"maps"
	"slices"
	"strings"

	"tipstaff/internal/argv"
)

// started is a command line that a program would start.
type started struct {
	words []string
	by    string // what would start it, as "git clone --upload-pack"
	index int    // the argument of the whole command in which it stands
	inOne bool   // all of it stands in that argument

	itself             bool     // the program may start it anyway
	project, workspace bool     // how much of it is looked at
	moved              bool     // it runs in another directory
	open               bool     // more arguments come from the program's input
	holes              []string // text that stands for input
}

// fault is something that a program would do and that cannot be judged, or
// must not be.
type fault struct {
	index int
	found string // the telling part
	why   string // continues "args[1] …, "
}

// starting is what the arguments of one program come to.
type starting struct {
	inner  []started
	faults []fault
	bare   bool // a wrapper without a command
}

// startReader reads the arguments of one program by its table.
type startReader struct {
	*starter
	by   string // the program, and its subcommand
	args []string
	base place
	at   int

	out       starting
	skip      int // operands that still come before the command
	options   bool
	asIs      bool // not joined
	ended     bool // no command is started
	commanded bool // an option gave the command
	moved     bool
	holes     []string
	seen      []string // options that were there
	operands  []operand
}

// operand is an argument that is no option, and its index in args.
type operand struct {
	text string
	at   int
}

// place is where arguments stand in the whole command: from an index on, or all
// of them in the one of that index.
type place struct {
	index int
	inOne bool
}

func (p place) of(i int) int {
	if p.inOne {
		return p.index
	}
	return p.index + i
}

// readStarting reads what program does with args, which stand at base.
func readStarting(s *starter, program string, args []string, base place) starting {
	r := &startReader{starter: s, by: program, args: args, base: base, skip: s.after, options: true}
	if s.old && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		r.oldOptions()
	}
	for ; r.at < len(r.args); r.at++ {
		if done := r.word(r.args[r.at]); done {
			return r.out
		}
	}
	r.finish()
	return r.out
}

// word reads one argument. It reports whether the rest has been read as well.
func (r *startReader) word(arg string) (done bool) {
	switch {
	case !r.options, len(arg) < 2 || arg[0] != '-':
		return r.operand(arg)
	case arg == "--" && r.dashdash:
		r.start(r.at + 1)
		return true
	case arg == "--":
		r.options = false
	case r.digits && strings.Trim(arg[1:], "0123456789") == "":
	default:
		r.option(arg)
	}
	return false
}

// operand reads an argument that is no option.
func (r *startReader) operand(arg string) (done bool) {
	switch {
	case r.subs != nil:
		return r.subcommand(arg)
	case r.wraps && arg == "-" && r.options: // env - and su - say something else with it
		return false
	case r.assigns && isVariable(arg):
		r.variable(arg)
		return false
	case r.dashdash, r.wraps && r.skip > 0 && (r.operandOptional == nil || slices.Contains(r.operandOptional, arg)):
		r.skip--
		r.options = r.options && (r.permute || r.dashdash)
		return false
	case r.wraps:
		r.start(r.at)
		return true
	}
	r.operands = append(r.operands, operand{arg, r.at})
	r.options = r.options && !r.early
	return false
}

// subcommand goes on with the table of a subcommand.
func (r *startReader) subcommand(arg string) (done bool) {
	sub := r.subs[arg]
	if sub == nil {
		if !r.inherits {
			return true // its options are not the program's
		}
		sub = &starter{}
	}
	merged := *sub
	if r.inherits {
		merged.options = map[string]option{}
		for _, from := range []*starter{r.starter, sub} {
			maps.Copy(merged.options, from.options)
		}
		merged.inherits = true
	}
	if merged.names == nil {
		merged.names, merged.safe = r.names, r.safe
	}
	if merged.itself == nil {
		merged.itself = r.itself
	}
	merged.single = merged.single || r.single
	rest := readStarting(&merged, r.by+" "+arg, r.args[r.at+1:], place{r.base.of(r.at + 1), r.base.inOne})
	r.out.inner = append(r.out.inner, rest.inner...)
	r.out.faults = append(r.out.faults, rest.faults...)
	r.out.bare = rest.bare
	return true
}

// start takes the rest as the command line of the wrapped program.
func (r *startReader) start(at int) {
	words := r.args[at:]
	if len(words) == 0 {
		r.finish()
		return
	}
	if r.appends {
		if end := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, ":::") }); end >= 0 {
			words = words[:end] // of GNU parallel: arguments, not the command
		}
	}
	if r.joined && !r.asIs {
		r.line(r.by, strings.Join(words, " "), r.base.of(at))
		return
	}
	r.add(started{words: words, by: r.by, index: r.base.of(at), open: r.appends})
}

// finish looks at the whole when there was no command line among the arguments.
func (r *startReader) finish() {
	if r.ended {
		return
	}
	r.out.bare = r.wraps && !r.commanded
	if r.never != "" {
		r.fault(-1, r.by, r.never)
	}
	if r.out.bare && r.shell {
		r.fault(-1, r.by, "without a command it starts a shell")
	}
	r.finishOperands()
}

func (r *startReader) add(s started) {
	s.holes = append(slices.Clone(r.holes), s.holes...)
	s.moved = s.moved || r.moved
	s.project, s.workspace = s.project || r.project, s.workspace || r.workspace
	if len(s.words) > 0 {
		s.itself = s.itself || slices.Contains(r.itself, s.words[0])
		r.out.inner = append(r.out.inner, s)
	}
}

// line takes text as a command line, which a shell or a splitter like one will
// run, with more arguments behind it. What cannot be split is not judged, and
// neither are backslashes, which such splitters read in ways of their own.
func (r *startReader) line(by, text string, index int, more ...string) {
	words, err := argv.Split(text)
	if err != nil || strings.Contains(text, `\`) {
		r.fault(index, text, by+" would run it, and it is more than one plain command")
		return
	}
	r.add(started{words: append(words, more...), by: by, index: index, inOne: true, open: r.appends})
}

func (r *startReader) fault(index int, found, why string) {
	r.out.faults = append(r.out.faults, fault{index, found, why})
}

// variable judges NAME=value, which a wrapper puts into the environment.
func (r *startReader) variable(v string) {
	name, value, _ := strings.Cut(v, "=")
	if assignmentFault(name, value) != "" {
		r.fault(r.base.of(r.at), v, "a variable that decides what runs")
	}
}

// isVariable is what env and sudo take for an assignment: anything with an = in
// it. To sudo, what begins with a slash is a program.
func isVariable(arg string) bool { return strings.Contains(arg, "=") && arg[0] != '/' }
