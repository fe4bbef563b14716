package setup

import (
	"os"
	"path/filepath"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/inspect/clients"
	"tipstaff/internal/inspect/doctor"
)

// examineHooks says what is wrong with the hooks of a client, if it has any of
// ours: whether each event has one, whether its program is there, and whether its
// settings and its policy can be used.
func examineHooks(s clients.System, c clients.Client) (found []doctor.Finding) {
	hook, ok := clients.FindHook(c.Name)
	if !ok {
		return nil
	}
	for _, scope := range []clients.Scope{clients.User, clients.Project} {
		st := s.Look(hook, scope)
		if st.Fault != "" && st.Exists {
			found = append(found, finding(doctor.Doubt, "%s: whether there are hooks cannot be told: %s: %s", c.Title, st.Path, st.Fault))
		}
		if st.Installed {
			found = append(found, examineHook(hook, st))
		}
	}
	return found
}

func examineHook(c clients.Client, st clients.State) doctor.Finding {
	again := []string{"run: tipstaff hook install " + c.Name}
	e, err := clients.HookEntry(st)
	if err != nil {
		f := finding(doctor.Fault, "%s: the hooks in %s are not whole: %v", c.Title, st.Path, err)
		f.Notes = again
		return f
	}
	if _, err := os.Stat(e.Command); err != nil || !filepath.IsAbs(e.Command) {
		f := finding(doctor.Fault, "%s: the hooks in %s start %s, which is not there; the client's own shell runs nothing, or everything if it is older than 2.1.295", c.Title, st.Path, cmdline.Escape(e.Command))
		f.Notes = again
		return f
	}
	if _, err := hookExample(pairs(e.Env), "true"); err != nil {
		f := finding(doctor.Fault, "%s: the hooks in %s cannot use their settings, so they block every line", c.Title, st.Path)
		f.Notes = append([]string{cmdline.Escape(err.Error())}, again...)
		return f
	}
	return finding(doctor.Good, "%s: its own shell asks by the hooks in %s", c.Title, st.Path)
}
