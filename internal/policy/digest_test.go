package policy_test

import (
	"testing"

	"tipstaff/internal/policy"
)

func TestTheDigestChangesWithTheRulesAndWithNothingElse(t *testing.T) {
	digest := func(mode policy.ArgumentMode, allowed ...string) string {
		settings := server()
		settings.Arguments = mode
		d := policy.New(settings).Decide(terminal("echo", "x"), allowing(allowed...))
		if g, ok := d.Grant(); ok {
			g.Close()
		}
		return d.Digest
	}
	one := digest(policy.ArgumentsContextual, "echo", "ls")
	if len(one) != 64 || one != digest(policy.ArgumentsContextual, "echo", "ls") {
		t.Errorf("asked twice: %s", one)
	}
	for _, other := range []string{
		digest(policy.ArgumentsContextual, "echo"), digest(policy.ArgumentsContextual, "echols"), digest(policy.ArgumentsStrict, "echo", "ls"),
	} {
		if other == one {
			t.Error("other rules have the same digest")
		}
	}
}
