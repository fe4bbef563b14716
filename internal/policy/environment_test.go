package policy_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tipstaff"
	"tipstaff/internal/policy"
)

// passes reports whether a variable reaches a command: of the server's
// environment, and of a caller's variables.
func passes(t *testing.T, v string) (server, caller bool) {
	t.Helper()
	w := allowing("env")
	settings := policy.Settings{Limits: serverLimits(), Environment: policy.NewEnvironment([]string{v}, "/usr/bin")}
	d := policy.New(settings).Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: []string{"env"}}, w)
	grant, ok := d.Grant()
	if !ok {
		t.Fatal(answer(d))
	}
	defer grant.Close()
	kept, _, err := policy.NewEnvironment(nil, "").Admit([]string{v}, nil)
	return slices.Contains(grant.Env(), v), err == nil && slices.Contains(kept, v)
}

// TestB11TheVectors: names and values of the corpus. What is filtered or
// refused does not pass, what is kept does.
func TestB11TheVectors(t *testing.T) {
	type vector struct {
		ID, Name, Value, Expect string
		AppliesTo               string `json:"applies_to"`
	}
	for _, c := range lines[vector](t, "environment-vectors.jsonl") {
		server, caller := passes(t, c.Name+"="+c.Value)
		if want := c.Expect == "keep"; caller != want || c.AppliesTo == "both" && server != want {
			// TERM is kept as a caller sets it; the server's own is replaced.
			if c.Name != "TERM" || !caller {
				t.Errorf("%s %s=%s: server %v, caller %v, want %s", c.ID, c.Name, c.Value, server, caller, c.Expect)
			}
		}
	}
}

// TestB11TheRules: every rule of the corpus holds; the table of this package
// adds to them and takes nothing away.
func TestB11TheRules(t *testing.T) {
	type rule struct {
		ID, Action, Match, Pattern string
		AppliesTo                  string `json:"applies_to"`
		Exceptions                 []string
	}
	replaced := strings.Fields("TERM NO_COLOR DEBIAN_FRONTEND") // the server's own values; a caller's pass
	for _, r := range lines[rule](t, "environment-rules.jsonl") {
		var names []string
		switch r.Match {
		case "exact":
			names = []string{r.Pattern}
		case "prefix":
			names = []string{r.Pattern + "X", r.Pattern + "_Y"}
		}
		for _, name := range names {
			server, caller := passes(t, name+"=value")
			switch {
			case r.Action == "set":
			case r.Action == "preserve" && (!caller || !server && !slices.Contains(replaced, name)):
				t.Errorf("%s: %s is kept: server %v, caller %v", r.ID, name, server, caller)
			case r.Action == "preserve":
			case r.AppliesTo != "caller" && server:
				t.Errorf("%s: %s of the server passes", r.ID, name)
			case r.AppliesTo != "inherited" && caller:
				t.Errorf("%s: %s of a caller passes", r.ID, name)
			}
		}
		for _, except := range r.Exceptions {
			name := except
			if !regexp.MustCompile(`^[A-Z]`).MatchString(except) {
				name = r.Pattern + except
			}
			if strings.HasSuffix(name, "_") {
				name += "X"
			}
			if _, caller := passes(t, name+"=value"); !caller {
				t.Errorf("%s: the exception %s does not pass", r.ID, name)
			}
		}
	}
}

// TestB11WhatAServerPassesOn: an environment as it comes to be.
func TestB11WhatAServerPassesOn(t *testing.T) {
	e := policy.NewEnvironment([]string{
		"HOME=/home/user", "PATH=/evil:/usr/bin", "LANG=de_DE.UTF-8", "AUTHOR=A B", "KEYBOARD=us", "NODE_OPTIONS=--max-old-space-size=4096",
		"AWS_SECRET_ACCESS_KEY=x", "SETTING=ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "LD_PRELOAD=x.so", "SSH_AUTH_SOCK=/tmp/agent",
		"ALLOWED_COMMANDS=*", "TERMINAL_MAX_SESSIONS=5", "TIPSTAFF_STATE_DIR=/s", "TIPSTAFF_TOKEN=s", "EDITOR=vim", "PWD=/secret", "OLDPWD=/old",
		"BASH_FUNC_ls%%=() { rm; }", "F=() { rm; }", "LC_ALL=../../x", "CAWS_X=1", "noequals", "=C:=x", "TWICE=1", "TWICE=2",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=http.extraheader", "GIT_CONFIG_VALUE_0=x", // as Copilot CLI has them
	}, "/usr/bin:/bin")
	settings := policy.Settings{Limits: serverLimits(), Environment: e}
	d := policy.New(settings).Decide(tipstaff.Request{Family: tipstaff.Execute, Argv: []string{"env"}, Dir: "src", DirGiven: true}, allowing("env"))
	grant, ok := d.Grant()
	if !ok {
		t.Fatal(answer(d))
	}
	want := strings.Fields("AUTHOR=A_B CAWS_X=1 DEBIAN_FRONTEND=noninteractive EDITOR=: GIT_EDITOR=: GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 " +
		"HOME=/home/user KEYBOARD=us LANG=de_DE.UTF-8 MANPAGER=cat NODE_OPTIONS=--max-old-space-size=4096 NO_COLOR=1 PAGER=cat PATH=/usr/bin:/bin PWD=/work/src TERM=dumb TWICE=2 VISUAL=:")
	want[0] = "AUTHOR=A B"
	if diff := cmp.Diff(want, grant.Env()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	hidden := strings.Fields("AWS_SECRET_ACCESS_KEY SETTING LD_PRELOAD SSH_AUTH_SOCK ALLOWED_COMMANDS TERMINAL_MAX_SESSIONS TIPSTAFF_STATE_DIR TIPSTAFF_TOKEN PWD OLDPWD BASH_FUNC_ls%% F LC_ALL GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0")
	if diff := cmp.Diff(hidden, e.Hidden()); diff != "" {
		t.Errorf("hidden (-want +got):\n%s", diff)
	}
}

// TestACommandWithATerminalIsTold: TERM, unless the caller says otherwise; and an
// editor only where it could start nothing that is not allowed anyway.
func TestACommandWithATerminalIsTold(t *testing.T) {
	all := allowing("env")
	all.allowed[tipstaff.Execute] = policy.ParseAllowlist("*", "ALLOWED_COMMANDS")
	for _, c := range []struct {
		says    string
		world   *fakeWorld
		env     []string
		term    string
		editors bool // are kept from starting
	}{
		{"every program is allowed", all, nil, "TERM=xterm-256color", false},
		{"some are", allowing("env"), nil, "TERM=xterm-256color", true},
		{"the caller knows better", allowing("env"), []string{"TERM=vt100"}, "TERM=vt100", true},
	} {
		req := tipstaff.Request{Family: tipstaff.Execute, Argv: []string{"env"}, Env: c.env, Terminal: &tipstaff.TerminalSize{}}
		d := decide(t, c.world, req)
		grant, ok := d.Grant()
		if !ok {
			t.Fatal(c.says)
		}
		for _, v := range []string{"EDITOR=:", "VISUAL=:", "GIT_EDITOR=:", "GIT_TERMINAL_PROMPT=0"} {
			if slices.Contains(grant.Env(), v) != c.editors {
				t.Errorf("%s: %q", c.says, grant.Env())
			}
		}
		if !slices.Contains(grant.Env(), c.term) || !slices.Contains(grant.Env(), "PAGER=cat") {
			t.Errorf("%s: %q", c.says, grant.Env())
		}
	}
}

// TestB11WhatACallerAdds: kept, dropped by name, and never over the fixed ones.
func TestB11WhatACallerAdds(t *testing.T) {
	req := terminal("env")
	req.Env = []string{
		"NODE_ENV=test", "CI=true", "FOO_BAR=a=b", "EMPTY=", "TERM=xterm", "GIT_AUTHOR_NAME=A", "CAWS_NOTE=n", "FORCE_COLOR=1", "NODE_ENV=last",
		"CAWS_TASK_ID=forged", "PATH=/evil", "NODE_OPTIONS=--require x", "LD_PRELOAD=x", "GIT_SSH_COMMAND=x", "API_KEY=x", "URL=postgres://u:hunter2@db/x",
		"npm_config_loglevel=silent", "NPM_CONFIG_Script_Shell=/x", "SSH_AUTH_SOCK=/tmp/agent", "PWD=/else", "EDITOR=vim", "PATH=/twice",
	}
	req.OfSession = req.Env
	req.Fixed = []string{"CAWS_TASK_ID=T-1", "CAWS_AGENT_ID=agent", "CAWS_SESSION_ID=term-1"}
	d := decide(t, allowing("env"), req)
	grant, ok := d.Grant()
	if !ok {
		t.Fatal(answer(d))
	}
	want := strings.Fields("CAWS_AGENT_ID=agent CAWS_NOTE=n CAWS_SESSION_ID=term-1 CAWS_TASK_ID=T-1 CI=true DEBIAN_FRONTEND=noninteractive EDITOR=: EMPTY= FOO_BAR=a=b FORCE_COLOR=1 " +
		"GIT_AUTHOR_NAME=A GIT_EDITOR=: GIT_OPTIONAL_LOCKS=0 GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 HOME=/home/user LANG=C.UTF-8 MANPAGER=cat NODE_ENV=last PAGER=cat PATH=/usr/bin:/bin PWD=/work TERM=xterm VISUAL=: npm_config_loglevel=silent")
	if diff := cmp.Diff(want, grant.Env()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	dropped := strings.Fields("CAWS_TASK_ID PATH NODE_OPTIONS LD_PRELOAD GIT_SSH_COMMAND API_KEY URL NPM_CONFIG_Script_Shell SSH_AUTH_SOCK PWD EDITOR")
	if diff := cmp.Diff(dropped, grant.Dropped()); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

// TestB11MalformedVariables are the caller's mistake, which is named.
func TestB11MalformedVariables(t *testing.T) {
	many := make([]string, 257)
	for i := range many {
		many[i] = fmt.Sprintf("V%d=x", i)
	}
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		says string
		vars []string
		want string
	}{
		{"no name", []string{"=x"}, `the environment variable "" has no name`},
		{"a blank in the name", []string{"A B=x"}, `the environment variable "A B" has a name with characters that are not allowed`},
		{"a letter that is not ASCII", []string{"Ä=x"}, `the environment variable "Ä" has a name with characters that are not allowed`},
		{"a line end in the name", []string{"A\nB=x"}, `the environment variable "A\nB" has a name with characters that are not allowed`},
		{"NUL in the value", []string{"A=x\x00y"}, `the value of the environment variable "A" contains a NUL character`},
		{"too many", many, `there are 257 environment variables, at most 256 are allowed`},
		{"a value that is too long", []string{"A=" + strings.Repeat("x", 131_070)}, `the environment variable "A" has more than 131071 bytes`},
		{"too much together", []string{"A=" + long, "B=" + long, "C=" + long}, `the environment variables have more than 262144 bytes in all`},
	} {
		t.Run(c.says, func(t *testing.T) {
			req := terminal("env")
			req.Env = c.vars
			d := decide(t, allowing("env"), req)
			if got := answer(d); !strings.HasPrefix(got, "INVALID_PARAMETERS: "+c.want+" | ") {
				t.Errorf("%s", got)
			}
		})
	}
	if kept, dropped, err := policy.NewEnvironment(nil, "").Admit(many[:256], nil); err != nil || len(kept) != 256 || dropped != nil {
		t.Errorf("256 variables: %d kept, %q dropped, %v", len(kept), dropped, err)
	}
}

// TestAVariableIsOneNameAndOneValue: an = in a name would move the border.
func TestAVariableIsOneNameAndOneValue(t *testing.T) {
	if v, err := policy.Variable("A", "b=c"); err != nil || v != "A=b=c" {
		t.Errorf("%q, %v", v, err)
	}
	var e *tipstaff.Error
	if v, err := policy.Variable("A=b", "c"); !errors.As(err, &e) || e.Code != tipstaff.InvalidParameters || e.Details["variable"] != "A=b" {
		t.Errorf("%q, %v", v, err)
	}
}
