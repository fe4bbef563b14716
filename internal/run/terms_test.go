package runner

import (
	"slices"
	"testing"

	"tipstaff/internal/policy/language"
)

// TestEveryFileThatCanBeLentIsLentByAWordOfThePolicy, and is not lent without
// it.
func TestEveryFileThatCanBeLentIsLentByAWordOfThePolicy(t *testing.T) {
	var all rules.Credentials
	for _, kind := range []rules.CredentialKind{rules.DockerCredential, rules.GitCredential, rules.NPMCredential, rules.AgentCredential} {
		all = append(all, rules.Credential{Kind: kind})
	}
	terms, err := Terms(rules.Bounds{}, all)
	slices.Sort(terms.Reveal)
	lent := []string{"docker", "npm", "ssh-agent"}
	if err != nil || !slices.Equal(terms.Reveal, lent) || !terms.Doors {
		t.Errorf("%v: %q is lent, want %q", err, terms.Reveal, lent)
	}
	for _, c := range []rules.Credentials{nil, {{Kind: rules.VariableCredential, Only: "DATABASE_URL"}}} {
		if terms, err := Terms(rules.Bounds{}, c); err != nil || terms.Doors || terms.Reveal != nil {
			t.Errorf("%v: %v, %+v", c, err, terms)
		}
	}
}
