package policy

import (
	"slices"

	"tipstaff/internal/command/programs"
)

// Layer is one command line of a command: the command itself, or one that it
// would start.
type Layer struct {
	Argv []string
	// By is what would start it, "" for the command itself: "timeout",
	// "python3 -m".
	By string
	// Open: more arguments come from input, or some of these are replaced by it.
	Open bool
}

// LayersOf returns every command line that the arguments of a command show, the
// command itself first: programs that wrappers and options would start, and
// parts of a program under the names by which they are judged. whole is false
// if the command would start something that its arguments do not show, such as
// a line for a shell.
func LayersOf(argv []string) (layers []Layer, whole bool) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, true
	}
	var j layerList
	unwrap(&j, &layer{words: argv})
	return j.layers, !j.incomplete
}

// layerList collects the layers of a command, and judges none.
type layerList struct {
	layers     []Layer
	incomplete bool
}

func (j *layerList) layer(l *layer) {
	j.layers = append(j.layers, Layer{Argv: slices.Clone(l.words), By: l.from.By, Open: l.from.Open || len(l.from.Holes) > 0})
}

func (j *layerList) admit(*layer) bool { return true }

func (j *layerList) counts(*programs.Program) bool { return true }

func (j *layerList) passes(string, []programs.Start) bool { return false }

func (j *layerList) find(name, _ string) (string, error) { return name, nil }

func (j *layerList) fault(fault) { j.incomplete = true }
