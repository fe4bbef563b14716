package policy

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

//go:embed builtin/literal-positions.json
var literalPositionsJSON []byte

// positions is the table of literal positions; builtin/literal-positions.json
// explains every key.
type positions struct {
	Doc     []string              `json:"_doc"`
	Any     []string              `json:"any"`
	Reshell []string              `json:"reshell"`
	Prog    map[string]*textTable `json:"prog"`
}

type textTable struct {
	Alias   string                `json:"alias"`
	Opts    []string              `json:"opts"`
	ValOpts []string              `json:"valopts"`
	Opts2   []string              `json:"opts2"`
	Given   []string              `json:"given"`
	Tokens  []string              `json:"tokens"`
	Pos     string                `json:"pos"`
	After   string                `json:"after"`
	Module  string                `json:"module"`
	Runs    bool                  `json:"runs"`
	Single  bool                  `json:"single"`
	Sub     map[string]*textTable `json:"sub"`
}

var literalPositions = sync.OnceValue(func() *positions {
	var p positions
	if err := json.Unmarshal(literalPositionsJSON, &p); err != nil {
		panic("builtin/literal-positions.json: " + err.Error()) // a test reads it
	}
	return &p
})

// freeText tells for every argument of a program whether it is free text, a
// pattern or the like, which the program never hands to a shell. In strict
// mode only the program's own grammar counts as that.
func freeText(program string, args []string, strict bool) []bool {
	free := make([]bool, len(args))
	markFree(program, args, free, strict)
	return free
}

// textWalk goes through the arguments of one program.
type textWalk struct {
	tables []*textTable // the program's, then its subcommand's
	any    []string
	args   []string
	free   []bool
	at     int

	positional int
	given      bool // the pattern came as an option
}

func markFree(program string, args []string, free []bool, strict bool) {
	all := literalPositions()
	w := textWalk{args: args, free: free}
	if t := all.Prog[program]; t != nil {
		if t.Alias != "" {
			t = all.Prog[t.Alias]
		}
		w.tables = []*textTable{t}
	}
	if !slices.Contains(all.Reshell, program) {
		w.any = all.Any
	}
	if strict {
		w.markTokens()
		return
	}
	w.walk()
}

func (w *textWalk) markTokens() {
	for i, arg := range w.args {
		w.free[i] = w.has(func(t *textTable) []string { return t.Tokens }, arg)
	}
}

func (w *textWalk) walk() {
	for options := true; w.at < len(w.args); w.at++ {
		arg := w.args[w.at]
		switch {
		case w.has(func(t *textTable) []string { return t.Tokens }, arg):
			w.free[w.at] = true
		case options && arg == "--":
			options = false
		case options && len(arg) > 1 && arg[0] == '-':
			if w.option(arg) {
				return
			}
		default:
			if w.operand(arg) {
				return
			}
		}
	}
}

// option judges an option and steps over its value. It reports whether the
// rest has been judged as well.
func (w *textWalk) option(arg string) (done bool) {
	for _, t := range w.tables {
		switch arg {
		case t.After:
			for i := w.at + 1; i < len(w.free); i++ {
				w.free[i] = true
			}
			return true
		case t.Module:
			w.program(w.at + 1)
			return true
		}
	}
	name, _, assigned := strings.Cut(arg, "=")
	if w.has(func(t *textTable) []string { return t.Given }, name) {
		w.given = true
	}
	switch {
	case w.isText(name) && assigned:
		w.free[w.at] = true
	case w.isText(name):
		w.value(1)
	case w.has(func(t *textTable) []string { return t.ValOpts }, arg):
		w.at++
	case w.has(func(t *textTable) []string { return t.Opts2 }, arg):
		w.value(2)
	default:
		w.shortOptions(arg)
	}
	return false
}

// isText reports whether the option's value is literal.
func (w *textWalk) isText(name string) bool {
	return slices.Contains(w.any, name) || w.has(func(t *textTable) []string { return t.Opts }, name)
}

// value marks the nth argument from here and steps over it.
func (w *textWalk) value(n int) {
	w.at += n
	if w.at < len(w.free) {
		w.free[w.at] = true
	}
}

// shortOptions judges -d;, where the value is glued, and clusters as -am,
// where the last option takes the next argument.
func (w *textWalk) shortOptions(arg string) {
	if arg[1] == '-' || w.singleDashed() {
		return
	}
	if w.isText(arg[:2]) {
		w.free[w.at] = true
		return
	}
	for i := 1; i < len(arg); i++ {
		if !isName(arg[i]) {
			return
		}
	}
	last := "-" + arg[len(arg)-1:]
	if w.has(func(t *textTable) []string { return t.Given }, last) {
		w.given = true
	}
	switch {
	case w.isText(last):
		w.value(1)
	case w.has(func(t *textTable) []string { return t.ValOpts }, last):
		w.at++
	}
}

func (w *textWalk) singleDashed() bool {
	return slices.ContainsFunc(w.tables, func(t *textTable) bool { return t.Single })
}

// operand judges a positional argument. It reports whether the rest has been
// judged as well.
func (w *textWalk) operand(arg string) (done bool) {
	if len(w.tables) == 1 && w.positional == 0 && w.tables[0].Sub != nil {
		sub := w.tables[0].Sub[arg]
		if sub == nil {
			sub = &textTable{}
		}
		if sub.Runs {
			next := w.at + 1
			for next < len(w.args) && strings.HasPrefix(w.args[next], "-") {
				next++
			}
			w.program(next)
			return true
		}
		w.tables = append(w.tables, sub)
		return false
	}
	for _, t := range w.tables {
		if t.Pos == "rest" || t.Pos == "first" && w.positional == 0 && !w.given {
			w.free[w.at] = true
		}
	}
	w.positional++
	return false
}

// program judges the rest as the command line of another program.
func (w *textWalk) program(at int) {
	if at < len(w.args) {
		markFree(w.args[at], w.args[at+1:], w.free[at+1:], false)
	}
}

func (w *textWalk) has(list func(*textTable) []string, arg string) bool {
	return slices.ContainsFunc(w.tables, func(t *textTable) bool { return slices.Contains(list(t), arg) })
}
