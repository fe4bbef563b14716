package server

import (
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/front/mcpserver"
	"tipstaff/internal/policy"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/run"
	"tipstaff/internal/sandbox/profile"
	"tipstaff/internal/server/config"
)

// summary returns what a client can rely on. Rules for agents and tasks are
// known only when a command names them.
func (st *Stack) summary(who tipstaff.Origin) mcpserver.Summary {
	allowed := st.host.Allowlist(tipstaff.Execute)
	roots, err := st.host.Roots()
	bounds := st.bounds(who)
	s := mcpserver.Summary{
		Allowed: allowed.Names, AllAllowed: allowed.Any,
		DefaultTimeout: limits(st.settings)[tipstaff.Execute].Under(bounds).DefaultTimeout, OutputBytes: answerBytes(st.settings),
		Restricted: err != nil || len(roots) > 0, Terminal: st.settings.Terminal, Shell: st.shellOn(), Jobs: st.settings.MaxJobs > 0,
	}
	if bounds.Output > 0 {
		s.OutputBytes = int(min(int64(s.OutputBytes), bounds.Output))
	}
	if file := st.policy.Policy(); file != nil {
		s.Rules = file.Summary(callerOf(who))
		s.Listed = !allowed.Absent
		s.Restricted = s.Restricted || len(file.EveryRoot()) > 0
	}
	st.confines(&s, bounds)
	return s
}

// bounds are those that the policy file sets for each command of a caller in the server's
// directory. A rule may tighten them, or add hosts, for its own program.
func (st *Stack) bounds(who tipstaff.Origin) language.Bounds {
	file := st.policy.Policy()
	if file == nil {
		return language.Bounds{}
	}
	if dir, err := WorkingDirectory(); err == nil {
		file, _ = file.In(dir)
	}
	return file.FileBounds(callerOf(who))
}

// answerBytes is how much output an answer shows if nothing else is asked for.
func answerBytes(s config.Settings) int {
	if s.AnswerBytes > 0 {
		return min(s.AnswerBytes, s.MaxOutputBytes)
	}
	return s.MaxOutputBytes
}

// confines adds how the sandbox confines commands under these bounds.
func (st *Stack) confines(s *mcpserver.Summary, bounds language.Bounds) {
	if st.Sandbox == nil {
		return // a gateway does not know its runners' sandboxes
	}
	terms, err := run.Terms(bounds, nil)
	if err != nil {
		return // no command runs with such bounds, and its refusal says why
	}
	status := st.Sandbox.OutlookUnder(terms) // the answer to initialize does not wait for the sandbox
	s.Tier, s.Network = status.Tier, status.Network
	if dir, err := WorkingDirectory(); err == nil && !s.Restricted {
		s.Directory = dir
	}
	s.Open = status.Profile == profile.Open.String()
	if status.Profile == profile.Workspace.String() {
		s.Writable = status.Paths.Workspace
		if own := policy.Workspace(st.policy.Policy(), st.host); len(own) > 0 {
			s.Writable = own
		}
	}
}

// allowed says, in one line each, how commands are confined and which programs
// a family may run for a client.
func (st *Stack) allowed(who tipstaff.Origin, family tipstaff.Family) string {
	var s mcpserver.Summary
	st.confines(&s, st.bounds(who))
	return strings.TrimPrefix(mcpserver.Confined(s)+"\n"+st.mayRun(who, family), "\n")
}

func (st *Stack) mayRun(who tipstaff.Origin, family tipstaff.Family) string {
	list := st.host.Allowlist(family)
	lists := func(name string) bool {
		return list.Absent || list.Fault == "" && (list.Any || slices.Contains(list.Names, name))
	}
	file := st.policy.Policy()
	if file == nil {
		return mcpserver.Allowed(slices.DeleteFunc(slices.Clone(list.Names), func(n string) bool { return !lists(n) }), list.Any && list.Fault == "")
	}
	narrow := file.Narrowings(callerOf(who))
	var names []string
	for _, e := range file.List() {
		out := func(n language.Narrowing) bool { return !n.Reaches(e.Program) }
		if len(e.Allow)+len(e.Ask) > 0 && e.Program != "*" && lists(e.Program) && !slices.ContainsFunc(narrow, out) {
			names = append(names, e.Program)
		}
	}
	if file.Inside() && len(narrow) == 0 && list.Absent {
		return mcpserver.Inside(file.List())
	}
	return mcpserver.Allowed(names, file.Open() && len(narrow) == 0 && (list.Absent || list.Any && list.Fault == ""))
}

func callerOf(o tipstaff.Origin) language.Who {
	return language.Who{Client: o.Client, Principal: o.Principal}
}
