package natsx

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"tipstaff/internal/plainfile"
)

// Options say where the engine is and who connects. Servers, Role and Name must
// be there.
type Options struct {
	Servers []string // nats:// or tls://, tried in random order
	Role    Role
	Name    string // of the runner or gateway; see [CheckName]

	// Credentials is a file with an nkey's seed or with a .creds text; "": none,
	// which a server takes only if it asks for no key.
	Credentials string
	CA          string // file with the authorities of the servers' certificates; "": those of the machine
	Cert, Key   string // files with this member's own certificate and its key; both or none

	Log *slog.Logger // nil: no log
}

// How fast a silent peer is noticed, and how attempts to connect are spaced.
const (
	pingEvery    = 2 * time.Second
	pingsMissing = 2
	dialTimeout  = 5 * time.Second
	firstPause   = 50 * time.Millisecond
	longestPause = 5 * time.Second
)

// natsOptions are those of the library that hold what the package promises.
func (o Options) natsOptions() ([]nats.Option, error) {
	if err := CheckServers(o.Servers); err != nil {
		return nil, err
	}
	if !slices.Contains([]Role{Gateway, Runner, Auditor, Operator}, o.Role) {
		return nil, fmt.Errorf("cannot connect to the engine: %q is no role; there are gateway, runner, auditor and operator", o.Role)
	}
	if err := CheckName(o.Name); err != nil {
		return nil, err
	}
	opts := []nats.Option{
		nats.Name(string(o.Role) + " " + o.Name),
		nats.CustomInboxPrefix(inbox(o.Role, o.Name)),
		nats.ReconnectBufSize(-1), // nothing is sent later
		nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(pingsMissing),
		nats.Timeout(dialTimeout),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // an operator may yet add the key to the servers
		nats.CustomReconnectDelay(pause),
	}
	secure, err := o.tls()
	if err != nil {
		return nil, err
	}
	if secure != nil {
		opts = append(opts, nats.Secure(secure))
	}
	if o.Credentials == "" {
		return opts, nil
	}
	key, err := credentials(o.Credentials)
	return append(opts, key), err
}

const jwtBegins = "BEGIN NATS USER JWT"

// CheckServers says what is wrong with addresses of servers.
func CheckServers(servers []string) error {
	if len(servers) == 0 {
		return errors.New("no address of the engine: it is one or more of nats://HOST:PORT or tls://HOST:PORT, with commas between them")
	}
	for _, s := range servers {
		u, err := url.Parse(s)
		switch {
		case err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "":
			return fmt.Errorf("%q is no address of the engine: it is nats://HOST:PORT or tls://HOST:PORT", s)
		case u.User != nil:
			return fmt.Errorf("the address of the engine at %s holds a name or a password, which would stand in the environment and in logs: put a key into a file and name it in TIPSTAFF_ENGINE_CREDENTIALS", u.Host)
		case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
			return fmt.Errorf("%q is no address of the engine: nothing follows HOST:PORT", s)
		}
	}
	return nil
}

// tls is the configuration of the transport; nil: only what the address asks for.
func (o Options) tls() (*tls.Config, error) {
	if (o.Cert == "") != (o.Key == "") {
		return nil, errors.New("a certificate for the engine needs its key, and a key its certificate: set both or none")
	}
	asked := o.CA != "" || o.Cert != ""
	for _, s := range o.Servers {
		asked = asked || strings.HasPrefix(s, "tls://")
	}
	if !asked {
		return nil, nil //nolint:nilnil // no configuration is an answer here
	}
	c := &tls.Config{MinVersion: tls.VersionTLS13}
	if o.CA != "" {
		pem, err := plainfile.Read(o.CA, maxKeyFile)
		if err != nil {
			return nil, fmt.Errorf("cannot read the authorities of the engine: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the file %s holds no certificate that could be an authority of the engine", o.CA)
		}
	}
	if o.Cert != "" {
		if _, err := keyPair(o.Cert, o.Key); err != nil {
			return nil, fmt.Errorf("cannot use the certificate for the engine: %w", err)
		}
		// Read again at each connection, so that a renewed one needs no restart.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return keyPair(o.Cert, o.Key)
		}
	}
	return c, nil
}

// maxKeyFile bounds files of keys and certificates.
const maxKeyFile = 1 << 20

// keyPair reads a certificate and its key.
func keyPair(cert, key string) (*tls.Certificate, error) {
	certificate, err := plainfile.Read(cert, maxKeyFile)
	if err != nil {
		return nil, err
	}
	private, err := plainfile.Read(key, maxKeyFile)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, private)
	return &pair, err
}

// CheckFiles says which of the files cannot be used that these options name. It opens no
// connection.
func (o Options) CheckFiles() error {
	_, err := o.tls()
	if o.Credentials != "" {
		err = errors.Join(err, CheckCredentials(o.Credentials))
	}
	return err
}

// CheckCredentials says what is wrong with a file for [Options.Credentials].
func CheckCredentials(file string) error {
	_, err := credentials(file)
	return err
}

// credentials reads a file with a seed or a .creds text. The key is read again at
// each connection.
func credentials(file string) (nats.Option, error) {
	text, err := plainfile.Read(file, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read the key for the engine: %w", err)
	}
	if strings.Contains(string(text), jwtBegins) {
		if _, err := nkeys.ParseDecoratedUserNKey(text); err != nil {
			return nil, fmt.Errorf("cannot use the credentials in %s: %w", file, err)
		}
		return nats.UserCredentials(file), nil
	}
	key, err := ReadSeed(file)
	if err != nil {
		return nil, err
	}
	defer key.Wipe()
	public, err := key.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("cannot use the key in %s: %w", file, err)
	}
	if !nkeys.IsValidPublicUserKey(public) {
		return nil, fmt.Errorf("the key in %s is no user's key: its seed begins with SU; make one with: tipstaff engine key", file)
	}
	return nats.Nkey(public, func(nonce []byte) ([]byte, error) {
		key, err := ReadSeed(file)
		if err != nil {
			return nil, err
		}
		defer key.Wipe()
		return key.Sign(nonce)
	}), nil
}

// ReadSeed reads an nkey from a file that holds its seed, alone or after comments
// that begin with #, or from a .creds text.
func ReadSeed(file string) (nkeys.KeyPair, error) {
	text, err := plainfile.Read(file, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("cannot read a key of the engine: %w", err)
	}
	if strings.Contains(string(text), jwtBegins) {
		return nkeys.ParseDecoratedUserNKey(text)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := nkeys.FromSeed([]byte(line))
		if err != nil {
			return nil, fmt.Errorf("the file %s holds no seed of an nkey: %v", file, err) // never the line itself
		}
		return key, nil
	}
	return nil, fmt.Errorf("the file %s holds no seed of an nkey: it is empty", file)
}
