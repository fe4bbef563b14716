package config

import (
	"strings"
	"testing"
)

func TestCopiesOfTrailsAreSetWithTheEngine(t *testing.T) {
	for name, c := range map[string]struct {
		env                []string
		on, copies, strict bool
		fault              string
	}{
		"no engine":                   {nil, false, false, false, ""},
		"no engine to be strict with": {[]string{"TIPSTAFF_ENGINE_AUDIT=strict"}, false, false, false, ""},
		"an engine":                   {[]string{"TIPSTAFF_ENGINE=nats://a:4222"}, true, true, false, ""},
		"strict":                      {[]string{"TIPSTAFF_ENGINE=nats://a:4222", "TIPSTAFF_ENGINE_AUDIT=strict"}, true, true, true, ""},
		"off":                         {[]string{"TIPSTAFF_ENGINE=nats://a:4222", "TIPSTAFF_ENGINE_AUDIT=off"}, true, false, false, ""},
		"a server that stands alone":  {[]string{"TIPSTAFF_ENGINE=nats://a:4222", "TIPSTAFF_ENGINE_ROLES=none"}, false, true, false, ""},
		"a word that is none":         {[]string{"TIPSTAFF_ENGINE_AUDIT=yes"}, false, false, false, "TIPSTAFF_ENGINE_AUDIT=\"yes\": must be copy"},
		"none and a role":             {[]string{"TIPSTAFF_ENGINE_ROLES=none,runner"}, false, false, false, "must be gateway, runner"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := FromEnvironment(append([]string{"HOME=/h"}, c.env...))
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("got %v", err)
				}
				return
			}
			e := s.Engine
			if err != nil || e.On() != c.on || e.Copies() != c.copies || e.AuditStrict() != c.strict || (e.CopiesTo() != "") != c.copies {
				t.Errorf("%+v, %v", e, err)
			}
		})
	}
}
