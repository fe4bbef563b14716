package runner

import (
	"fmt"
	"strings"

	"tipstaff/internal/egress"
	"tipstaff/internal/profile"
	"tipstaff/internal/rules"
	"tipstaff/internal/sandbox"
)

// Terms are what the sandbox has to hold a command to, by what the policy file
// wishes for it. What cannot be understood is an error, never left out.
func Terms(b rules.Bounds) (sandbox.Terms, error) {
	t := sandbox.Terms{Limits: sandbox.Limits{MemoryBytes: b.Memory, Processes: b.Processes}}
	if b.Tier != "" {
		tier, err := sandbox.ParseTier(b.Tier)
		if err != nil {
			return t, fmt.Errorf("the policy's sandbox: %w", err)
		}
		t.Tier = tier
	}
	if b.Profile != "" {
		p, err := profile.Parse(b.Profile)
		if err != nil {
			return t, fmt.Errorf("the policy's sandbox: %w", err)
		}
		t.Profile = &p
	}
	if b.Network.Limited {
		t.Network = &sandbox.Network{}
		if len(b.Network.Hosts) > 0 {
			hosts, err := egress.ParseHosts(strings.Join(b.Network.Hosts, ","))
			if err != nil {
				return t, fmt.Errorf("the policy's network: %w", err)
			}
			*t.Network = sandbox.Network{Reach: sandbox.ListedHosts, Hosts: hosts}
		}
	}
	return t, nil
}
