package config

import (
	"slices"
	"testing"

	"tipstaff/internal/protected"
)

// TestEverySettingSaysWhetherItNamesAFile: one that names a file of tipstaff's own
// and is not in the list would leave that file to commands.
func TestEverySettingSaysWhetherItNamesAFile(t *testing.T) {
	for _, s := range settings {
		listed := slices.ContainsFunc(filesOf, func(f fileSetting) bool { return f.name == s.name })
		switch {
		case s.holds == 0:
			t.Errorf("%s does not say whether it names a file: give it words, places or ownFiles in variables.go", s.name)
		case listed != (s.holds == ownFiles):
			t.Errorf("%s holds %d, and is in filesOf: %t", s.name, s.holds, listed)
		}
	}
	for _, f := range filesOf {
		if f.why == "" || !slices.ContainsFunc(settings, func(s setting) bool { return s.name == f.name }) {
			t.Errorf("%s has no reason or is no setting", f.name)
		}
	}
}

// TestWhatASettingNamesIsListed gives each such setting a file.
func TestWhatASettingNamesIsListed(t *testing.T) {
	values := map[string]string{
		"TIPSTAFF_DECIDER": "unix:///own/file:/v1/data/x", "TIPSTAFF_HTTP": "unix:/own/file", "TIPSTAFF_AUDIT_SINKS": "stderr, syslog:///own/file",
		"SSL_CERT_DIR": "/elsewhere:/own/file",
	}
	for _, set := range settings {
		if set.holds != ownFiles {
			continue
		}
		value := values[set.name]
		if value == "" {
			value = "/own/file"
		}
		s, err := FromEnvironment([]string{"HOME=/h", "ENABLE_TERMINAL_ACCESS=true", set.name + "=" + value})
		if err != nil {
			t.Errorf("%s=%s: %v", set.name, value, err)
		}
		if !slices.ContainsFunc(s.OwnFiles(), func(f protected.File) bool { return f.Path == "/own/file" && f.Setting == set.name }) {
			t.Errorf("%s=%s is not among %+v", set.name, value, s.OwnFiles())
		}
	}
}

// TestSecretsAreToldFromWhatOnlySteers: hiding secrets has a cost, so other
// files are not hidden.
func TestSecretsAreToldFromWhatOnlySteers(t *testing.T) {
	s, err := FromEnvironment([]string{
		"HOME=/h", "ENABLE_TERMINAL_ACCESS=true", "TERMINAL_ALLOWLIST_PATH=/ws/.tipstaff/allow.json", "TIPSTAFF_STATE_DIR=/state",
		"TIPSTAFF_TLS_KEY_FILE=/key", "TIPSTAFF_TLS_CERT_FILE=/cert", "TIPSTAFF_AUDIT_CHECKPOINTS=/checkpoints", "TIPSTAFF_TOKENS_FILE=/tokens", "TIPSTAFF_AUDIT_WEBHOOK_SECRET_FILE=/secret",
		"XDG_CONFIG_HOME=/conf", "TIPSTAFF_CONFIG=/conf/tipstaff/teams/a.yaml", "TIPSTAFF_HTTP=127.0.0.1:1", "TIPSTAFF_DECIDER=http://127.0.0.1:2/x",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]protected.Kind{}
	for _, f := range s.OwnFiles() {
		got[f.Path] = f.Kind
	}
	for path, want := range map[string]protected.Kind{
		"/key": protected.Secret, "/tokens": protected.Secret, "/secret": protected.Secret, "/state": protected.Secret,
		"/cert": protected.Steering, "/ws/.tipstaff/allow.json": protected.Steering, "/ws/.tipstaff": protected.Steering, "/checkpoints": protected.ReadOnly,
		"/conf/tipstaff/teams/a.yaml": protected.Steering, "/conf/tipstaff": protected.Steering,
	} {
		if kind, listed := got[path]; !listed || kind != want {
			t.Errorf("%s is listed: %t, as %v; want %v", path, listed, kind, want)
		}
	}
	if len(got) != 10 {
		t.Errorf("%v", got)
	}
}
