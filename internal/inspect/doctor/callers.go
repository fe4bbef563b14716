package doctor

import (
	"time"
)

// Callers describes how callers over HTTP authenticate.
type Callers struct {
	// Methods are the ways to authenticate; none: a token is made at each
	// start.
	Methods         []string   `json:"methods"`
	CertificateEnds *time.Time `json:"certificate_ends,omitzero"`
	Error           string     `json:"error,omitempty"` // why a server could not serve over HTTP
}

// soon is how long before its expiry a certificate is reported. Tools renew
// certificates well before that.
const soon = 7 * 24 * time.Hour

func (c *Callers) findings(now time.Time) []Finding {
	if c.Error != "" {
		return []Finding{fault("callers over HTTP: %s", c.Error)}
	}
	var all []Finding
	if len(c.Methods) == 0 {
		all = append(all, good("callers over HTTP: a token is made at each start, and shown once"))
	}
	for _, method := range c.Methods {
		all = append(all, good("callers over HTTP: %s", method))
	}
	switch end := c.CertificateEnds; {
	case end == nil:
	case end.Sub(now) < soon:
		all = append(all, doubt("the certificate for HTTP ends soon, on %s: renew it, a running server reads it again", end.UTC().Format(time.RFC3339)))
	default:
		all = append(all, good("the certificate for HTTP is good until %s", end.UTC().Format(time.RFC3339)))
	}
	return all
}
