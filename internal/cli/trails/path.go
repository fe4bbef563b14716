package trails

import (
	"os"

	"tipstaff/internal/exit"
	"tipstaff/internal/server/config"
)

// Path returns the path that the arguments name; without one, the directory of trails of
// the settings.
func Path(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	settings, err := config.FromEnvironment(os.Environ())
	if err != nil {
		return "", exit.Errorf(exit.Config, "cannot tell where the trails are:\n%w", err)
	}
	return settings.AuditDir(), nil
}
