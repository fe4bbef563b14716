package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// TLSOptions say with what a server shows who it is, and whose certificates it
// believes.
type TLSOptions struct {
	CertFile string // its certificate and those between it and the authority, PEM
	KeyFile  string // the private key, PEM; nobody else may read it

	// ClientCAFile has the authorities of client certificates, PEM; "": clients
	// are not asked for one.
	ClientCAFile string
	// Optional lets clients come without a certificate, for those who have a
	// token instead. Without it the handshake fails.
	Optional bool

	// Changes says whether the files may be read again when they have changed; nil:
	// they may.
	Changes Changes

	NextProtos []string     // of ALPN; nil: h2 and http/1.1, as net/http has it
	Log        *slog.Logger // nil: none
}

// TLS is a certificate that is read again when its files change. New connections
// get the new one, those that are there go on. If the files cannot be used, the
// last good ones count. It may be used by many goroutines at once.
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

// Config is for a listener. It always has what the files say now.
func (t *TLS) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: t.o.NextProtos,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return t.pair.current(), nil
		},
		// For whoever asks whether there is a certificate at all.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &t.pair.current().Certificates[0], nil
		},
	}
}

// Reload reads the files again because a person says so. If they cannot be used, the
// last good ones count.
func (t *TLS) Reload() { t.pair.reload() }

// Expiry is when the certificate in use ends.
func (t *TLS) Expiry() time.Time { return t.pair.current().Certificates[0].Leaf.NotAfter }

// load makes the configuration of a connection from the files.
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

// believe makes clients show a certificate. Each connection is verified anew:
// with a ticket, one that was issued before the authorities changed would do.
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
