package config

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDefaultsAreThoseOfTheContract(t *testing.T) {
	s, err := FromEnvironment([]string{"HOME=/home/me", "PATH=/bin"})
	if err != nil {
		t.Fatal(err)
	}
	if s.ExecuteDefaultTimeout != 30*time.Second || s.ExecuteMaxTimeout != 0 || s.TerminalDefaultTimeout != time.Minute || s.TerminalMaxTimeout != 5*time.Minute ||
		s.MaxOutputBytes != 1_048_576 || s.MaxSessions != 50 || s.SessionIdle != 30*time.Minute || s.Terminal ||
		s.AllowlistPath != "./apps/tools/caws/tools-allow.json" || s.StateDir != "/home/me/.local/state/tipstaff" || s.Arguments != "contextual" {
		t.Errorf("got %+v", s)
	}
}

func TestTheStateDirectoryIsWhereTheSettingSays(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"HOME=/h", "XDG_STATE_HOME=/x", "TIPSTAFF_STATE_DIR=/s"}, "/s"},
		{[]string{"HOME=/h", "XDG_STATE_HOME=/x"}, "/x/tipstaff"},
		{[]string{"HOME=/h", "XDG_STATE_HOME=relative"}, "/h/.local/state/tipstaff"},
	} {
		if s, err := FromEnvironment(c.env); err != nil || s.StateDir != c.want || s.AuditDir() != c.want+"/audit" {
			t.Errorf("%q: %q, %v", c.env, s.StateDir, err)
		}
	}
	if s, err := FromEnvironment(nil); err == nil && !strings.HasSuffix(s.StateDir, "/.local/state/tipstaff") {
		t.Errorf("with nothing set it is below the user's own directory, not at %q", s.StateDir)
	}
	if _, err := FromEnvironment([]string{"HOME=relative"}); err == nil || !strings.Contains(err.Error(), "TIPSTAFF_STATE_DIR") {
		t.Errorf("with a home that is no path: %v", err)
	}
}

// TestARelativePathIsRefusedByName: it would be another directory wherever the
// server is started, and the next server would not find what this one left.
func TestARelativePathIsRefusedByName(t *testing.T) {
	for _, name := range []string{"TIPSTAFF_STATE_DIR", "HOME"} {
		for _, value := range []string{"state", "./state", "../state", "~/state", " /state"} {
			env := []string{"HOME=/h", name + "=" + value}
			if name == "HOME" {
				env[0] = "TIPSTAFF_STATE_DIR=/s"
			}
			_, err := FromEnvironment(env)
			if want := fmt.Sprintf("%s=%q: must be an absolute path", name, value); err == nil || err.Error() != want+", one that begins with /" {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
}

func TestWithoutAPathTheUsualDirectoriesAreSearched(t *testing.T) {
	for env, want := range map[string]string{"A=b": "/bin:/usr/bin", "PATH=": "", "PATH=/opt/bin": "/opt/bin"} {
		if s, err := FromEnvironment([]string{"HOME=/h", env}); err != nil || s.Path != want {
			t.Errorf("%s: %q, %v", env, s.Path, err)
		}
	}
}

func TestTheListOfTheOperatorComesBeforeThePath(t *testing.T) {
	for env, want := range map[string]string{"TIPSTAFF_PATH=/opt/bin:/usr/bin": "/opt/bin:/usr/bin", "TIPSTAFF_PATH=": "/bin"} {
		if s, err := FromEnvironment([]string{"HOME=/h", "PATH=/bin", env}); err != nil || s.Path != want {
			t.Errorf("%s: %q, %v", env, s.Path, err)
		}
	}
	for _, bad := range []string{"bin", "/bin:", ":/bin", "/bin::/usr/bin", "~/bin", "/bin:./x"} {
		if _, err := FromEnvironment([]string{"HOME=/h", "PATH=/bin", "TIPSTAFF_PATH=" + bad}); err == nil || !strings.Contains(err.Error(), "must be a list of absolute paths") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestOfANameThatStandsTwiceTheFirstCounts(t *testing.T) {
	s, err := FromEnvironment([]string{"HOME=/h", "ALLOWED_COMMANDS=ls", "ALLOWED_COMMANDS=*"})
	if err != nil || s.AllowedCommands != "ls" {
		t.Errorf("%q, %v", s.AllowedCommands, err)
	}
}

func TestACeilingTakesAnUnwrittenDefaultAlong(t *testing.T) {
	s, err := FromEnvironment([]string{"HOME=/h", "TERMINAL_MAX_TIMEOUT=1000", "TIPSTAFF_MAX_TIMEOUT=2000"})
	if err != nil || s.TerminalDefaultTimeout != time.Second || s.ExecuteDefaultTimeout != 2*time.Second {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	_, err := FromEnvironment([]string{
		"HOME=/h", "TERMINAL_DEFAULT_TIMEOUT=0", "TERMINAL_MAX_OUTPUT_SIZE=1.5", "TERMINAL_MAX_SESSIONS=-1", "TIPSTAFF_DEFAULT_TIMEOUT=soon",
		"TIPSTAFF_SESSION_IDLE=99999999999999999999", "ENABLE_TERMINAL_ACCESS=yes",
	})
	if err == nil {
		t.Fatal("it was accepted")
	}
	for _, name := range []string{"TERMINAL_DEFAULT_TIMEOUT", "TERMINAL_MAX_OUTPUT_SIZE", "TERMINAL_MAX_SESSIONS", "TIPSTAFF_DEFAULT_TIMEOUT", "TIPSTAFF_SESSION_IDLE", "ENABLE_TERMINAL_ACCESS"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in:\n%v", name, err)
		}
	}
}

func TestADefaultThatWasWrittenAboveItsCeilingIsAFault(t *testing.T) {
	_, err := FromEnvironment([]string{"HOME=/h", "TERMINAL_DEFAULT_TIMEOUT=5000", "TERMINAL_MAX_TIMEOUT=1000"})
	if err == nil || !strings.Contains(err.Error(), "TERMINAL_MAX_TIMEOUT, which is 1000") {
		t.Errorf("%v", err)
	}
}

func TestAPrincipalsShareOfTerminalSessions(t *testing.T) {
	for _, c := range []struct {
		what string
		vars []string
		want int
	}{
		{"all where there is one", nil, 50},
		{"all over HTTP", []string{"TIPSTAFF_HTTP=127.0.0.1:0"}, 50},
		{"all where the bound is for another front", []string{"TIPSTAFF_HTTP_TERMINAL_SESSIONS=5"}, 50},
		{"what the operator says", []string{"TIPSTAFF_HTTP=127.0.0.1:0", "TIPSTAFF_HTTP_TERMINAL_SESSIONS=40"}, 40},
		{"no more than there are", []string{"TIPSTAFF_HTTP=127.0.0.1:0", "TIPSTAFF_HTTP_TERMINAL_SESSIONS=400"}, 50},
	} {
		s, err := FromEnvironment(append(c.vars, "HOME=/h"))
		if got := s.OwnSessions(); err != nil || got != c.want {
			t.Errorf("%s: %d, %v", c.what, got, err)
		}
	}
	if _, err := FromEnvironment([]string{"HOME=/h", "TIPSTAFF_HTTP_TERMINAL_SESSIONS=0"}); err == nil {
		t.Error("none at all is no setting")
	}
}
