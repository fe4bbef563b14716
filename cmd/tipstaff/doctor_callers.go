package main

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"tipstaff/internal/config"
)

// callersStatus is what doctor says of how callers over HTTP show who they are.
type callersStatus struct {
	Methods         []string   `json:"methods"`
	CertificateEnds *time.Time `json:"certificate_ends,omitzero"`
	Error           string     `json:"error,omitempty"` // why no server would serve over HTTP
}

// soon is how long before its end a certificate is complained of: tools renew
// them well before.
const soon = 7 * 24 * time.Hour

// examineCallers reads the files of the settings as a server would. It asks no
// issuer.
func examineCallers(s config.Settings) callersStatus {
	c := callersStatus{Methods: callersMethods(s.Callers)}
	log := slog.New(slog.DiscardHandler)
	pair, err := newServerTLS(s, nil, log)
	if pair != nil {
		end := pair.Expiry()
		c.CertificateEnds = &end
	}
	if _, wrong := newAuthenticator(s, io.Discard, nil, log); wrong != nil {
		err = errors.Join(err, wrong)
	}
	if err != nil {
		c.Error = err.Error()
	}
	return c
}

func callersMethods(c config.Callers) []string {
	methods := []string{}
	for _, m := range []struct {
		on   bool
		text string
	}{
		{c.Token != "", "the token of TIPSTAFF_TOKEN"},
		{c.TokensFile != "", "the tokens of " + c.TokensFile},
		{c.OAuth.Issuer != "", "access tokens of " + c.OAuth.Issuer},
		{c.TLS.ClientCAFile != "", "client certificates of " + c.TLS.ClientCAFile},
	} {
		if m.on {
			methods = append(methods, m.text)
		}
	}
	return methods
}

func (c callersStatus) print(w io.Writer) {
	if c.Error != "" {
		say(w, "✘ callers over HTTP: %s", c.Error)
		return
	}
	if len(c.Methods) == 0 {
		say(w, "✔ callers over HTTP: a token is made at each start, and shown once")
	}
	for _, method := range c.Methods {
		say(w, "✔ callers over HTTP: %s", method)
	}
	switch end := c.CertificateEnds; {
	case end == nil:
	case time.Until(*end) < soon:
		say(w, "! the certificate for HTTP ends soon, on %s: renew it, a running server reads it again", end.UTC().Format(time.RFC3339))
	default:
		say(w, "✔ the certificate for HTTP is good until %s", end.UTC().Format(time.RFC3339))
	}
}
