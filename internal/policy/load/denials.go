package load

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tipstaff/internal/command/programs"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
)

// Denial says of one rule of the file under deny what it is worth.
type Denial struct {
	Program string `json:"program"`
	Pattern string `json:"pattern"`
	At      string `json:"at"`
	// Boundary: only lines about the program are lent something that the denied form
	// needs, or no other allowed program runs what it is given. Otherwise the denial is a
	// courtesy.
	Boundary bool   `json:"boundary"`
	Why      string `json:"why"`
}

// Denials weighs the rules under deny of a file. What cannot be shown to be a boundary is
// a courtesy. Presets are not weighed.
func Denials(file *language.Policy) []Denial {
	out := []Denial{}
	for _, e := range file.List() {
		means := meansBeside(file, e.Program)
		for _, line := range e.Deny {
			if line.At.File != file.Name {
				continue
			}
			d := Denial{Program: e.Program, Pattern: line.Pattern, At: line.At.String(), Boundary: true}
			lent := lentTo(file, e.Program, line.Pattern, means)
			switch {
			case len(means) == 0:
				d.Why = "no other allowed program runs what it is given"
			case len(lent) > 0:
				d.Why = "no other line is lent " + strings.Join(lent, ", ")
			case means[0] == "*":
				d.Boundary, d.Why = false, "any unlisted program can do the same"
			default:
				d.Boundary, d.Why = false, means[0]+" can do the same"
				if more := len(means) - 1; more > 0 {
					d.Why = fmt.Sprintf("%s and %d more can do the same", means[0], more)
				}
			}
			out = append(out, d)
		}
	}
	return out
}

// meansBeside returns the programs beside one that can do the same as it: those that run
// what they are given, in a form that the file lets run. * is every program that it does
// not name.
func meansBeside(file *language.Policy, program string) (means []string) {
	if file.Inside() {
		const unnamed = "a-program-that-no-line-names"
		if policy.JudgeFile(file, []string{unnamed}, language.Who{}, language.Lexical()).Effect == policy.Allow {
			means = append(means, "*")
		}
	}
	for _, e := range file.List() {
		if e.Program == program || len(e.Allow) == 0 && !file.Inside() || !runs(e.Program) && e.Program != "*" {
			continue
		}
		all := func(l language.Line) bool { return l.Pattern == "*" }
		if p := programs.Find(programs.PlainName(e.Program)); p != nil && p.Operands.Code != "" || slices.ContainsFunc(e.Deny, all) {
			continue // a policy reads what it runs, or nothing of it runs
		}
		if !slices.Contains(means, e.Program) {
			means = append(means, e.Program)
		}
	}
	return means
}

// lentTo returns what the denied form would be lent, and the hosts that it would reach,
// as far as none of the programs that can do the same has them.
func lentTo(file *language.Policy, program, pattern string, means []string) (lent []string) {
	words := strings.Fields(strings.NewReplacer("*", "x", "|", " ").Replace(pattern))
	has := func(name string) []string {
		q := language.Query{Program: name, Args: language.Args{Words: words}}
		return slices.Concat(file.Lends(q, language.Lexical()).Strings(), file.Bounds(name, language.Who{}).Network.Hosts)
	}
	for _, thing := range has(program) {
		if !slices.ContainsFunc(means, func(other string) bool {
			b := file.Bounds(other, language.Who{})
			return !b.Network.Limited && !strings.Contains(thing, " ") || slices.Contains(has(other), thing)
		}) {
			lent = append(lent, thing)
		}
	}
	slices.SortFunc(lent, cmp.Compare)
	return lent
}
