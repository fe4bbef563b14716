package httpfront

import "net/http"

// Counter hears what becomes of requests. It may be called from many goroutines
// at once.
type Counter interface {
	// Answered is told the status of an answer when the answer begins.
	Answered(status int)
	// Refused is told of a request that does not get as far as the protocol, by
	// one of [Reasons].
	Refused(reason string)
}

// Why requests are refused.
const (
	foreignHost     = "host"        // it names another server
	foreignOrigin   = "origin"      // it comes from a page that may not ask
	noCaller        = "caller"      // nobody has shown who asks, or not rightly
	malformed       = "credentials" // credentials are sent in a way that cannot be right
	unlisted        = "certificate" // the certificate is nobody's here
	noScope         = "scope"       // the caller may not ask this
	tooOften        = "rate"        // the caller asks too often
	tooMany         = "share"       // the caller has too many requests under way
	tooManyFailures = "attempts"    // the address has sent too many that are not good
	unavailable     = "unavailable" // who asks cannot be found out now
)

// Reasons are all for which a request is refused.
func Reasons() []string {
	return []string{foreignHost, foreignOrigin, noCaller, malformed, unlisted, noScope, tooOften, tooMany, tooManyFailures, unavailable}
}

// reasonOf names the refusal of an authenticator.
func reasonOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return noCaller
	case http.StatusBadRequest:
		return malformed
	case http.StatusForbidden:
		return unlisted
	default:
		return unavailable
	}
}

func (s *Server) noteRefused(reason string) {
	if s.opts.Counter != nil {
		s.opts.Counter.Refused(reason)
	}
}

// counted tells the counter how each request is answered.
func (s *Server) counted(next http.Handler) http.Handler {
	if s.opts.Counter == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &countedWriter{ResponseWriter: w, counter: s.opts.Counter}
		defer c.begin(http.StatusOK) // of a handler that says nothing
		next.ServeHTTP(c, r)
	})
}

type countedWriter struct {
	http.ResponseWriter

	counter Counter
	begun   bool
}

func (c *countedWriter) begin(status int) {
	if !c.begun && status >= http.StatusOK { // others are not the answer yet
		c.begun = true
		c.counter.Answered(status)
	}
}

// WriteHeader begins the answer.
func (c *countedWriter) WriteHeader(status int) {
	c.begin(status)
	c.ResponseWriter.WriteHeader(status)
}

// Write begins the answer, if nothing has.
func (c *countedWriter) Write(p []byte) (int, error) {
	c.begin(http.StatusOK)
	return c.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (c *countedWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }
