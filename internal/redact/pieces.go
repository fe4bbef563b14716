package redact

import "strings"

// Pieces hides the secrets in a text that is given in pieces, including secrets
// that extend over several: the hidden part is removed from each piece, and the
// mark stands where the secret begins. It never changes pieces.
func (r *Redactor) Pieces(pieces []string) []string {
	var hide spans
	r.inside(strings.Join(pieces, ""), runningText, &hide)
	if len(hide) == 0 {
		return pieces
	}
	rest := hide.merged()
	out := make([]string, len(pieces))
	at := 0 // where the piece begins in the whole text
	for i, p := range pieces {
		var kept strings.Builder
		done := 0 // how much of the piece is done
		for len(rest) > 0 && rest[0].from < at+len(p) {
			one := rest[0]
			if begin := one.from - at; begin >= 0 {
				kept.WriteString(p[done:begin])
				kept.WriteString(one.mark())
			}
			done = min(one.to-at, len(p))
			if one.to > at+len(p) {
				break // it continues in the next piece
			}
			rest = rest[1:]
		}
		kept.WriteString(p[done:])
		out[i] = kept.String()
		at += len(p)
	}
	return out
}
