//go:build linux && !race

package faults

import "time"

// flood lets another tenant ask for more than the fleet can do.
func (f *fleet) flood() { f.flooding = f.agents(48, "busy") }

// calm ends it, and holds the quiet tenant to have been served meanwhile.
func (f *fleet) calm() {
	f.t.Helper()
	began := time.Now().Add(-8 * time.Second)
	f.flooding()
	served := 0
	for word, n := range f.ledger.of("quiet", began) {
		if word == "well" {
			served += n
		}
	}
	if served < agentsAtWork {
		f.t.Errorf("while one tenant flooded, another had %d commands go well", served)
	}
}
