package server

import (
	"os"
	"path/filepath"
	"strings"

	"tipstaff"
	"tipstaff/internal/paths"
	"tipstaff/internal/policy"
	"tipstaff/internal/server/reload"
)

// warn logs at the start what the settings do not protect against.
func (st *Stack) warn() {
	reload.Warn(st.policy.Policy(), st.Log)
	if st.gateway == nil {
		st.warnOfDirectory()
		st.warnOfPath()
		warnOfCredentials(st.policy.Policy(), st.settings, st.Log)
	}
	for _, f := range []tipstaff.Family{tipstaff.Execute, tipstaff.Terminal} {
		if f == tipstaff.Terminal && !st.settings.Terminal {
			continue
		}
		list := st.host.Allowlist(f)
		if st.policy.Policy() != nil && list.Absent {
			continue // the policy file says what may run
		}
		if found := policy.Interpreters(list); len(found) > 0 {
			st.Log.Warn("programs on this allowlist run whatever they are given or find in the workspace; the list is no boundary for them",
				"allowlist", list.Source, "programs", strings.Join(found, ","))
		}
		if f == tipstaff.Execute && !list.Any && len(list.Names) == 0 {
			st.Log.Warn("execute_command and execute_process may run nothing: set ALLOWED_COMMANDS", "allowlist", list.Source)
		}
	}
}

// warnOfDirectory warns of the server's directory: a call without a cwd runs
// there, whatever the roots are (contract A10).
func (st *Stack) warnOfDirectory() {
	roots, err := st.host.Roots()
	if err != nil {
		st.Log.Warn("ALLOWED_CWD_ROOTS is broken; every call that gives cwd is refused", "error", err)
		return
	}
	dir, err := os.Getwd()
	if len(roots) == 0 || err != nil {
		return
	}
	if dir, err = filepath.EvalSymlinks(dir); err == nil && !paths.Within(dir, roots...) {
		st.Log.Warn("the server's own directory is outside of ALLOWED_CWD_ROOTS; calls without cwd run there", "dir", dir)
	}
}

// warnOfPath warns of directories in the PATH that others can write to: they
// can replace allowed programs there.
func (st *Stack) warnOfPath() {
	roots, err := st.host.Roots()
	if dir, wdErr := os.Getwd(); err == nil && len(roots) == 0 && wdErr == nil {
		roots = []string{dir}
	}
	for _, dir := range st.host.SearchPath() {
		if canonical, err := filepath.EvalSymlinks(dir); err == nil && paths.Within(canonical, roots...) {
			st.Log.Warn("a directory of the PATH lies inside the workspace: a command can replace the programs in it", "dir", dir)
		}
	}
}
