package fleet

import (
	"cmp"
	"slices"

	"tipstaff/internal/fleet/natsx"
)

// LivePeers are the gateways and runners that leases and pulses tell of, by name. Of two
// starts of one runner that is the later one, unless the older has renewed its lease
// since: see [List]. A process that is gone is among them until its lease ends.
func LivePeers(all []natsx.PeerLease) []natsx.Peer {
	born := map[string]uint64{} // by the name of the runner: the first lease of its last start
	for _, l := range all {
		if lease, err := decodeLease(natsx.LeaseChange{Member: l.Address, Sequence: l.Sequence, Time: l.Time, Value: l.Value}); err == nil && l.Role == natsx.Runner {
			born[l.Name] = max(born[l.Name], lease.Born)
		}
	}
	var out []natsx.Peer
	for _, l := range all {
		if l.Role == natsx.Runner && l.Sequence < born[l.Name] {
			continue
		}
		out = append(out, l.Peer)
	}
	slices.SortFunc(out, func(a, b natsx.Peer) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Address.String(), b.Address.String()))
	})
	return out
}
