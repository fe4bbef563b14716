package language

import "strings"

// A command can run in the background, where it outlives the call that asks for
// it, and on a terminal. Rules, programs and profiles may deny either; where more
// than one rule matches a command, one that denies it is enough.

// modeDenial is a setting that denies the background or terminals, with its message.
type modeDenial struct {
	setting Text
	applies bool // the command would run in this mode
	key     string
	msg     string
}

func (j *judge) modeDenials(background, tty Text) []modeDenial {
	return []modeDenial{
		{background, j.q.Background, "background", "it would run in the background, which is denied"},
		{tty, j.q.Terminal, "tty", "it would get a terminal, which is denied"},
	}
}

// denyModes denies a command in the background or on a terminal if its program
// forbids that, or a rule that matches the command. One rule is enough, even if
// others do not forbid it.
func (j *judge) denyModes(e *entry) {
	if !j.q.Background && !j.q.Terminal {
		return
	}
	if c := e.from; c != nil {
		j.addModeDenials(j.q.Program, c.Why.Value, "", j.modeDenials(c.Background, c.TTY))
	}
	of := func(r *rule) {
		j.addModeDenials(r.name, r.why, " for "+cut(strings.TrimSpace(j.q.Program+" "+r.item.Rule.Value)), j.modeDenials(r.item.Background, r.item.TTY))
	}
	for i := range e.allow {
		if r := &e.allow[i]; matchWhole(r.tokens, j.q.Args, j.f) {
			of(r)
		}
	}
	for i := range e.ask {
		if r := &e.ask[i]; r.content.in(&j.reading, j.f) {
			of(r)
		}
	}
}

// denyCallerModes denies what the profile of the caller forbids.
func (j *judge) denyCallerModes(p *profile) {
	j.addModeDenials(p.name, "", " to this caller", j.modeDenials(p.from.Background, p.from.TTY))
}

// CallerDenies returns the verdicts of the profiles that forbid a caller the
// background or terminals. They count for a script, which has no program of its
// own.
func (p *Policy) CallerDenies(who Who, background, terminal bool) []Verdict {
	j := judge{p: p, q: Query{Who: who, Background: background, Terminal: terminal}}
	for i := range p.profiles {
		if p.profiles[i].fits(who) {
			j.denyCallerModes(&p.profiles[i])
		}
	}
	return j.out
}

func (j *judge) addModeDenials(name, why, whom string, words []modeDenial) {
	for _, s := range words {
		if s.applies && s.setting.At.Set() {
			j.out = append(j.out, Verdict{Effect: Deny, Rule: name + "/" + s.key, At: s.setting.At, Msg: s.msg + whom, Why: why})
		}
	}
}

// approverApp lets a person answer in the page that the client shows.
const approverApp = "app"

// refuseApprover reports an approver in a rule that asks nobody, or that only
// narrows: it would have no effect.
func (l *loader) refuseApprover(items []Item, where string) {
	for i := range items {
		if at := items[i].Approver.At; at.Set() {
			l.faults.add(at, "write approver beside a pattern under ask of commands", "a rule under %s has no approver", where)
		}
	}
}

// refuseModes reports background and tty in rules that allow nothing by
// themselves: they would have no effect there.
func (l *loader) refuseModes(items []Item, where string) {
	for i := range items {
		for _, t := range [2]Text{items[i].Background, items[i].TTY} {
			if t.At.Set() {
				l.faults.add(t.At, "write it beside the pattern under allow or ask, or once for the program or the profile", "a rule under %s says nothing about the background and terminals", where)
			}
		}
	}
}
