package natsx

// SetRemembered lowers the bound of a verifier's memory.
func (v *Verifier) SetRemembered(n int) { v.counts.limit = n }
