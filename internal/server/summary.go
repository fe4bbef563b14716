package server

import (
	"slices"
	"strings"

	"tipstaff"
	"tipstaff/internal/front/mcpserver"
	"tipstaff/internal/policy/language"
	"tipstaff/internal/sandbox/profile"
	"tipstaff/internal/server/config"
)

// summary returns what a client can rely on. Rules for agents and tasks are
// known only when a command names them.
func (st *Stack) summary(who tipstaff.Origin) mcpserver.Summary {
	allowed := st.host.Allowlist(tipstaff.Execute)
	roots, err := st.host.Roots()
	s := mcpserver.Summary{
		Allowed: allowed.Names, AllAllowed: allowed.Any,
		DefaultTimeout: st.settings.ExecuteDefaultTimeout, OutputBytes: answerBytes(st.settings),
		Restricted: err != nil || len(roots) > 0, Terminal: st.settings.Terminal, Shell: st.shellOn(), Jobs: st.settings.MaxJobs > 0,
	}
	if file := st.policy.Policy(); file != nil {
		s.Rules = file.Summary(callerOf(who))
		s.Listed = !allowed.Absent
		s.Restricted = s.Restricted || len(file.EveryRoot()) > 0
	}
	st.confines(&s)
	return s
}

// answerBytes is how much output an answer shows if nothing else is asked for.
func answerBytes(s config.Settings) int {
	if s.AnswerBytes > 0 {
		return min(s.AnswerBytes, s.MaxOutputBytes)
	}
	return s.MaxOutputBytes
}

// confines adds how the sandbox confines commands without constraints of their
// own.
func (st *Stack) confines(s *mcpserver.Summary) {
	if st.Sandbox == nil {
		return // a gateway does not know its runners' sandboxes
	}
	status := st.Sandbox.Outlook() // the answer to initialize does not wait for the sandbox
	s.Tier, s.Network = status.Tier, status.Network
	if dir, err := WorkingDirectory(); err == nil && !s.Restricted {
		s.Directory = dir
	}
	s.Open = status.Profile == profile.Open.String()
	if status.Profile == profile.Workspace.String() {
		s.Writable = status.Paths.Workspace
	}
}

// allowed says, in one line each, how commands are confined and which programs
// a family may run for a client.
func (st *Stack) allowed(who tipstaff.Origin, family tipstaff.Family) string {
	var s mcpserver.Summary
	st.confines(&s)
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
		return "Every program may run here, inside of the sandbox."
	}
	return mcpserver.Allowed(names, file.Open() && len(narrow) == 0 && (list.Absent || list.Any && list.Fault == ""))
}

func callerOf(o tipstaff.Origin) language.Who {
	return language.Who{Client: o.Client, Principal: o.Principal}
}
