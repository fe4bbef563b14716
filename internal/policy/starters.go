package policy

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed builtin/starters.txt
var startersText string

// optionKind says what an option of a program does, or what its value is.
type optionKind int

const (
	optionUnknown optionKind = iota
	optionFlag
	optionValue
	optionMaybe        // a value only if it is glued
	optionProgram      // a command line
	optionMaybeProgram // the same, only if it is glued
	optionSplits       // the beginning of the command line
	optionUntil        // a command line up to ; or +
	optionUntilMoved
	optionHole
	optionMaybeHole
	optionVariable
	optionMoves
	optionPlain
	optionEnds
	optionNeeds
	optionRefuse
	optionMaybeRefuse
	optionSetting
	optionSettingEnv
	optionCode
)

// option is an option with what the table says beside its kind.
type option struct {
	kind optionKind
	of   string // the program that is needed, or the language of the code
}

// starter is what is known of one program, or of one of its subcommands;
// builtin/starters.txt explains every row.
type starter struct {
	never string

	wraps                              bool
	after                              int
	permute, dashdash, assigns, joined bool
	appends, shell, digits             bool
	project, workspace                 bool
	single, old, early, inherits       bool
	options                            map[string]option
	safe, names, itself                []string
	operandSetting, operandAssignment  bool
	operandProgram, operandLine        bool
	operandCode                        string
	operandOptional, operandCodeUnless []string
	operandBegins, operandContains     []string
	subs                               map[string]*starter
}

var starters = sync.OnceValue(func() map[string]*starter {
	all, err := parseStarters(startersText)
	if err != nil {
		panic("builtin/starters.txt: " + err.Error()) // a test reads it
	}
	return all
})

func parseStarters(text string) (map[string]*starter, error) {
	all := map[string]*starter{}
	var open []*starter // the program and the subcommands that the next row belongs to
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		row := strings.TrimSpace(line)
		if row == "" {
			continue
		}
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		if depth > len(open) {
			return nil, fmt.Errorf("%q is indented too far", row)
		}
		open = open[:depth]
		names, isSub := strings.CutPrefix(row, "sub ")
		switch {
		case depth == 0:
			open = append(open, begin(all, row))
		case isSub:
			if open[depth-1].subs == nil {
				open[depth-1].subs = map[string]*starter{}
			}
			open = append(open, begin(open[depth-1].subs, names))
		default:
			key, value, ok := strings.Cut(row, ":")
			if !ok {
				return nil, fmt.Errorf("no colon in %q", row)
			}
			if err := open[depth-1].row(strings.Fields(key), strings.TrimSpace(value)); err != nil {
				return nil, fmt.Errorf("%q: %w", row, err)
			}
		}
	}
	return all, nil
}

func begin(in map[string]*starter, names string) *starter {
	s := &starter{options: map[string]option{}}
	for name := range strings.FieldsSeq(names) {
		in[name] = s
	}
	return s
}

func (s *starter) row(key []string, value string) error {
	words := strings.Fields(value)
	of := strings.Join(key[1:], " ")
	switch key[0] {
	case "never":
		s.never = value
	case "wraps":
		return s.wrapsRow(words)
	case "style":
		s.single, s.old = slices.Contains(words, "single"), slices.Contains(words, "old")
		s.early, s.inherits = slices.Contains(words, "early"), slices.Contains(words, "inherits")
	case "safe":
		s.safe = append(s.safe, words...)
	case "itself":
		s.itself = words
	case "names":
		s.names = append(s.names, words...)
	case "operand":
		return s.operandRow(words)
	default:
		kind := kindNamed(key[0])
		if kind == optionUnknown {
			return fmt.Errorf("unknown row %q", key[0])
		}
		for _, name := range words {
			s.options[name] = option{kind, of}
		}
	}
	return nil
}

func kindNamed(row string) optionKind {
	return map[string]optionKind{
		"flag": optionFlag, "value": optionValue, "maybe": optionMaybe, "program": optionProgram, "maybe-program": optionMaybeProgram,
		"splits": optionSplits, "until": optionUntil, "until-moved": optionUntilMoved, "hole": optionHole, "maybe-hole": optionMaybeHole,
		"variable": optionVariable, "moves": optionMoves, "plain": optionPlain, "ends": optionEnds, "needs": optionNeeds,
		"refuse": optionRefuse, "maybe-refuse": optionMaybeRefuse, "setting": optionSetting, "setting-env": optionSettingEnv, "code": optionCode,
	}[row]
}

func (s *starter) wrapsRow(words []string) error {
	s.wraps = true
	flags := map[string]*bool{
		"permute": &s.permute, "dashdash": &s.dashdash, "assigns": &s.assigns, "joined": &s.joined, "appends": &s.appends,
		"shell": &s.shell, "digits": &s.digits, "project": &s.project, "workspace": &s.workspace,
	}
	for i := 0; i < len(words); i++ {
		if words[i] == "after" && i+1 < len(words) {
			n, err := strconv.Atoi(words[i+1])
			if err != nil {
				return err
			}
			s.after = n
			i++
			continue
		}
		flag, ok := flags[words[i]]
		if !ok {
			return fmt.Errorf("unknown word %q", words[i])
		}
		*flag = true
	}
	return nil
}

func (s *starter) operandRow(words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("nothing is said of operands")
	}
	switch rest := words[1:]; words[0] {
	case "setting":
		s.operandSetting = true
	case "assignment":
		s.operandAssignment = true
	case "program":
		s.operandProgram = true
	case "line":
		s.operandLine = true
	case "optional":
		s.operandOptional = rest
	case "begins":
		s.operandBegins = append(s.operandBegins, rest...)
	case "contains":
		s.operandContains = append(s.operandContains, rest...)
	case "code":
		if len(rest) == 0 {
			return fmt.Errorf("no language")
		}
		s.operandCode = rest[0]
		if len(rest) > 2 && rest[1] == "unless" {
			s.operandCodeUnless = rest[2:]
		}
	default:
		return fmt.Errorf("unknown operand row %q", words[0])
	}
	return nil
}
