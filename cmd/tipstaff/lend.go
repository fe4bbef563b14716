package main

import (
	"strings"

	"tipstaff/internal/config"
	"tipstaff/internal/credentials"
	"tipstaff/internal/host"
	"tipstaff/internal/proc"
	"tipstaff/internal/redact"
)

// newLender lends what rules of the policy file lend. The operator's own git is
// asked for passwords outside of the sandbox, so neither it nor its helpers are
// looked for where a command may write.
func newLender(s config.Settings, h *host.Host, engine *proc.Engine, secrets *redact.Redactor) *credentials.Lender {
	roots, err := h.Roots()
	if dir, wdErr := workingDirectory(); err == nil && len(roots) == 0 && wdErr == nil {
		roots = []string{dir}
	}
	search := h.SearchPath().Outside(roots)
	environ := []string{"PATH=" + search.String()}
	for _, kv := range s.Environ {
		if !strings.HasPrefix(kv, "PATH=") {
			environ = append(environ, kv)
		}
	}
	return credentials.New(credentials.Options{
		Engine: engine, Environ: environ, Dir: s.StateDir,
		Git:   func() (string, error) { return search.Find("git") },
		Learn: func(password string) { secrets.Learn("credential:git", password) },
	})
}
