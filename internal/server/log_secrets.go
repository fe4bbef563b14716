package server

import (
	"log/slog"
	"os"
	"sync"

	"tipstaff/internal/redact"
)

// logged hides secrets in the log: those of this process's environment, and what
// looks like one.
var logged = sync.OnceValue(func() *redact.Redactor { return redact.New(redact.Secrets(os.Environ())) })

// withoutSecrets hides the secrets in a text or an error that is logged: both may
// quote what a caller has sent.
func withoutSecrets(a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, logged().Text(a.Value.String()))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			return slog.String(a.Key, logged().Text(err.Error()))
		}
	}
	return a
}
