package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tipstaff"
)

// digest identifies the settings under which a decision was made: the allowlist
// of the family at that time, its limits, how arguments are judged, the policy
// file with all that it extends, and the roots. Two decisions with one digest
// were made by the same rules. It is the SHA-256, in hexadecimal, of these
// settings in a fixed order.
func (p *Policy) digest(f tipstaff.Family, a Allowlist) string {
	l := p.settings.Limits[f]
	b := fmt.Appendf(nil, "%s\x00%d\x00%d\x00%d\x00%d\x00%t\x00%s\x00", f, p.settings.Arguments, l.DefaultTimeout, l.MaxTimeout, l.OutputBytes, a.Any, a.Fault)
	if p.settings.Shell.Set {
		b = fmt.Appendf(b, "shell %s\x00", p.settings.Shell.Mode)
	}
	if f := p.settings.File; f != nil {
		b = append(append(b, f.Digest...), 0)
	}
	b = append(append(b, p.settings.Roots...), 0)
	for _, name := range a.Names {
		b = append(append(b, name...), 0)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
