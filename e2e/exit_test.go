//go:build unix

package e2e

import (
	"errors"
	"os/exec"
	"strconv"
)

func exitCode(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
