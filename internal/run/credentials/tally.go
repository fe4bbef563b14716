package credentials

import (
	"cmp"
	"slices"
	"sync"

	"tipstaff"
)

// tally counts what a command did with its credentials, for the record.
type tally struct {
	mu    sync.Mutex
	uses  map[string]*tipstaff.CredentialUse
	texts []string
}

// mostUses bounds the distinct uses; further ones are counted under the first
// word of their name.
const mostUses = 8

func (t *tally) given(kind, of string)   { t.count(kind, of).Given++; t.mu.Unlock() }
func (t *tally) refused(kind, of string) { t.count(kind, of).Refused++; t.mu.Unlock() }

// count returns the counter for a use. It locks t.mu, which the caller unlocks.
func (t *tally) count(kind, of string) *tipstaff.CredentialUse {
	t.mu.Lock()
	name := kind
	if of != "" {
		name += " " + of
	}
	if t.uses == nil {
		t.uses = map[string]*tipstaff.CredentialUse{}
	}
	if t.uses[name] == nil && len(t.uses) >= mostUses {
		name = kind
	}
	if t.uses[name] == nil {
		t.uses[name] = &tipstaff.CredentialUse{Credential: name}
	}
	return t.uses[name]
}

// note records a sentence for the caller, once.
func (t *tally) note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.texts, text) && len(t.texts) < mostUses {
		t.texts = append(t.texts, text)
	}
}

// list returns the counts, sorted by name.
func (t *tally) list() (uses []tipstaff.CredentialUse) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, u := range t.uses {
		uses = append(uses, *u)
	}
	slices.SortFunc(uses, func(a, b tipstaff.CredentialUse) int { return cmp.Compare(a.Credential, b.Credential) })
	return uses
}

// notes returns the sentences for the caller.
func (t *tally) notes() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.texts)
}
