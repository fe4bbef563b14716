package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"tipstaff"
)

// digest names the settings that a decision was made under: the allowlist of
// the family as it stood, its limits, and how arguments are judged. Two
// decisions with one digest were made by the same rules. It is the SHA-256, in
// hexadecimal, of these settings in an order of our own.
func (p *Policy) digest(f tipstaff.Family, a Allowlist) string {
	l := p.settings.Limits[f]
	b := fmt.Appendf(nil, "%s\x00%d\x00%d\x00%d\x00%d\x00%t\x00%s\x00", f, p.settings.Arguments, l.DefaultTimeout, l.MaxTimeout, l.OutputBytes, a.Any, a.Fault)
	for _, name := range a.Names {
		b = append(append(b, name...), 0)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
