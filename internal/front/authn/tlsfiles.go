package authn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// TLSOptions are the certificate of a server and the authorities of its
// clients' certificates.
type TLSOptions struct {
	CertFile string // the certificate and its intermediates, PEM
	KeyFile  string // the private key, PEM; no other user may read it

	// ClientCAFile holds the authorities of client certificates, PEM; "":
	// clients are not asked for a certificate.
	ClientCAFile string
	// Optional accepts clients without a certificate, which then need a token.
	// Without it their handshake fails.
	Optional bool

	// Changes says whether changed files may be read again; nil: they may.
	Changes Changes

	NextProtos []string     // for ALPN; nil: h2 and http/1.1, as in net/http
	Log        *slog.Logger // nil: none
}

// TLS is a TLS configuration that is read again when its files change. It
// applies to new connections; existing ones go on. If the files cannot be used,
// the last good ones stay in force. Several goroutines may use it at once.
type TLS struct {
	o    TLSOptions
	pair *watched[*tls.Config]
}

// NewTLS reads the files. The error is an *[OptionError].
func NewTLS(o TLSOptions) (*TLS, error) {
	switch {
	case o.CertFile == "":
		return nil, optionError("CertFile", errors.New("the certificate is missing"))
	case o.KeyFile == "":
		return nil, optionError("KeyFile", errors.New("the key of the certificate is missing"))
	}
	if o.NextProtos == nil {
		o.NextProtos = []string{"h2", "http/1.1"}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &TLS{o: o}
	paths := []string{o.CertFile, o.KeyFile}
	if o.ClientCAFile != "" {
		paths = append(paths, o.ClientCAFile)
	}
	var err error
	t.pair, err = watch("TLS certificate", paths, o.Changes, o.Log, t.load)
	return t, err
}

// Config returns the configuration for a listener. It always follows the files.
func (t *TLS) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: t.o.NextProtos,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return t.pair.current(), nil
		},
		// For callers that check whether there is a certificate at all.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &t.pair.current().Certificates[0], nil
		},
	}
}

// Reload reads the files again because a person asked for it. If they cannot be
// used, the last good ones stay in force.
func (t *TLS) Reload() { t.pair.reload() }

// Expiry returns when the certificate in use expires.
func (t *TLS) Expiry() time.Time { return t.pair.current().Certificates[0].Leaf.NotAfter }

// load makes a configuration from the files.
func (t *TLS) load() (*tls.Config, error) {
	cert, err := readOwn(t.o.CertFile)
	if err != nil {
		return nil, optionError("CertFile", err)
	}
	key, err := readSecret(t.o.KeyFile)
	if err != nil {
		return nil, optionError("KeyFile", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, optionError("CertFile", fmt.Errorf("%s with the key %s: %w", t.o.CertFile, t.o.KeyFile, err))
	}
	if pair.Leaf == nil {
		if pair.Leaf, err = x509.ParseCertificate(pair.Certificate[0]); err != nil {
			return nil, err
		}
	}
	if time.Now().After(pair.Leaf.NotAfter) {
		return nil, optionError("CertFile", fmt.Errorf("%s has expired, on %s", t.o.CertFile, pair.Leaf.NotAfter.UTC().Format(time.RFC3339)))
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: t.o.NextProtos, Certificates: []tls.Certificate{pair}}
	return c, t.believe(c)
}

// believe requires client certificates. Session tickets are off, so that each
// connection is verified anew: a ticket from before a change of the authorities
// would still be accepted.
func (t *TLS) believe(c *tls.Config) error {
	if t.o.ClientCAFile == "" {
		return nil
	}
	data, err := readOwn(t.o.ClientCAFile)
	if err != nil {
		return optionError("ClientCAFile", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(data) {
		return optionError("ClientCAFile", fmt.Errorf("%s has no certificate in PEM", t.o.ClientCAFile))
	}
	c.SessionTicketsDisabled = true
	c.ClientAuth = tls.RequireAndVerifyClientCert
	if t.o.Optional {
		c.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return nil
}
