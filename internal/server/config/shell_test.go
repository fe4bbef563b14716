package config

import (
	"strings"
	"testing"
)

func TestTheShellIsOffReadOrWrite(t *testing.T) {
	for _, value := range []string{"", "off", "read", "write"} {
		s, err := FromEnvironment([]string{"HOME=/h", "TIPSTAFF_SHELL=" + value})
		if err != nil || s.Shell != value {
			t.Errorf("%q: %q, %v", value, s.Shell, err)
		}
	}
	for _, value := range []string{"on", "true", "WRITE", "read ", "readwrite"} {
		if _, err := FromEnvironment([]string{"HOME=/h", "TIPSTAFF_SHELL=" + value}); err == nil || !strings.Contains(err.Error(), "TIPSTAFF_SHELL=") || !strings.Contains(err.Error(), "must be off, read or write") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
