package run

import (
	"regexp"
	"sync"

	"tipstaff"
)

// ofNetwork matches what programs print when they miss the network, and much else: it
// never is the reason to say so.
var ofNetwork = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)network|unreachable|no route|n.t resolve|resolve host|resolution|resolving|not known|\b(ENETUNREACH|EHOSTUNREACH|EAI_\w+|ENOTFOUND|EPERM)\b|getaddrinfo|no such host|lookup|\bdial\b|connect|timed? ?out|proxy|download|fetch|offline|socket|not permitted`)
})

// Blame adds to the refusals of a failed command that it tried in vain to reach another
// host, unless its own words show that it failed for another reason: many programs look
// for a newer version of themselves, or report their use, and go on without. words is
// what it printed, as far as that is known.
func Blame(r *tipstaff.Result, unreached string, words []byte) {
	if unreached == "" || len(words) > 0 && !ofNetwork().Match(words) {
		return
	}
	r.Refusals = append(r.Refusals, unreached)
	r.MissedNetwork = true
}
