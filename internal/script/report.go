package script

import (
	"slices"
	"strings"

	"tipstaff"
)

// Bounds of what an answer tells of the commands of a script.
const (
	mostTold     = 20
	mostWords    = 32
	longestWord  = 200 // bytes
	mostRefusals = 16
)

// report collects what went wrong in a script.
type report struct {
	commands []tipstaff.ScriptCommand
	further  int
	refusals []string
	network  bool
}

// add adds a command that failed or was refused.
func (p *report) add(c tipstaff.ScriptCommand) {
	if len(p.commands) == mostTold {
		p.further++
		return
	}
	if len(c.Words) > mostWords {
		c.Words = append(slices.Clone(c.Words[:mostWords]), "…")
	} else {
		c.Words = slices.Clone(c.Words)
	}
	for i, w := range c.Words {
		c.Words[i] = bounded(w)
	}
	p.commands = append(p.commands, c)
}

// addRefusals adds what the sandbox is known to have refused to a command.
func (p *report) addRefusals(res *tipstaff.Result) {
	p.network = p.network || res.MissedNetwork
	for _, why := range res.Refusals {
		if len(p.refusals) < mostRefusals && !slices.Contains(p.refusals, why) {
			p.refusals = append(p.refusals, why)
		}
	}
}

func (p *report) tell(res *tipstaff.Result) {
	res.Commands, res.Further = p.commands, p.further
	res.MissedNetwork = res.MissedNetwork || p.network
	for _, why := range p.refusals {
		if !slices.Contains(res.Refusals, why) {
			res.Refusals = append(res.Refusals, why)
		}
	}
}

func bounded(s string) string {
	if len(s) <= longestWord {
		return s
	}
	return strings.ToValidUTF8(s[:longestWord], "") + "…"
}
