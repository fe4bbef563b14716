package authn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Options are the methods by which callers may authenticate; several may be
// used at once.
type Options struct {
	Token      string // one token, with every scope; principal "token"
	TokensFile string // a file of named tokens; principals "token:NAME"
	Issuer     Issuer // access tokens of OAuth; principals "oauth:ISSUER|SUBJECT"

	// Clients are callers with a certificate that the TLS handshake has
	// verified; principals "cert:uri:URI", "cert:dns:NAME" or "cert:cn:NAME".
	Clients Clients

	// Changes says whether changed files may be read again; nil: all may.
	Changes Changes

	Log *slog.Logger     // nil: none
	Now func() time.Time // nil: the clock
}

// Gate is the [Authenticator] of a server. The zero Gate refuses all requests.
type Gate struct {
	Challenge

	clock    func() time.Time // nil: the real one
	token    []staticToken
	file     *watched[[]staticToken]
	issuer   *issuer
	clients  *clients
	metadata *Metadata
}

var errNoMethod = errors.New("there is no way for a caller to show who it is, and there are no anonymous ones: set a token, a tokens file, an issuer or an authority for client certificates")

// New opens the files of the options. It makes no network request, so a server
// can start while its issuer is down. The error is for the operator, and an
// *[OptionError] if a single option is at fault.
func New(o Options) (*Gate, error) {
	g := &Gate{clock: o.Now}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Token != "" {
		if err := CheckToken(o.Token); err != nil {
			return nil, optionError("Token", err)
		}
		g.token = oneToken(o.Token)
	}
	if o.TokensFile != "" {
		file, err := openTokens(o.TokensFile, o.Changes, o.Log)
		if err != nil {
			return nil, optionError("TokensFile", err)
		}
		g.file = file
	}
	if o.Issuer.on() {
		if err := g.trust(o.Issuer, o.Log); err != nil {
			return nil, err
		}
	}
	if o.Clients.on() {
		clients, err := newClients(o.Clients, o.Changes, o.Log, g.now)
		if err != nil {
			return nil, err
		}
		g.clients = clients
	}
	if g.token == nil && g.file == nil && g.issuer == nil && g.clients == nil {
		return nil, errNoMethod
	}
	return g, nil
}

// trust accepts the tokens of an issuer.
func (g *Gate) trust(i Issuer, log *slog.Logger) error {
	if err := i.Check(); err != nil {
		return err
	}
	algs, err := i.algorithms()
	if err != nil {
		return err
	}
	if i.Scopes == nil {
		i.Scopes = []Scope{Execute, Sessions, Read}
	}
	g.Challenge = Challenge{prefix: i.ScopePrefix}
	g.scopes = g.names(i.Scopes)
	if g.metadata, err = newMetadata(i, g.scopes); err != nil {
		return err
	}
	g.Challenge.metadata = g.metadata.URL()
	_, address, _ := strings.Cut(i.URL, "://")
	g.issuer = &issuer{
		Issuer: i, algs: algs, now: g.now, name: "oauth:" + address + "|",
		keys: &keys{fetch: keysOf(i), now: g.now, log: log},
	}
	return nil
}

// keysOf returns the function that fetches an issuer's keys. It looks up their
// address each time: that is two requests in ten minutes, and the address may
// change.
func keysOf(i Issuer) func(ctx context.Context) (keyDocument, error) {
	f := newFetcher(i.Roots)
	return func(ctx context.Context) (doc keyDocument, err error) {
		place := i.KeysURL
		if place == "" {
			if place, err = f.discover(ctx, i.URL); err != nil {
				return doc, err
			}
		}
		err = f.get(ctx, place, &doc)
		return doc, err
	}
}

// Reload reads the files of the options again because a person asked for it.
// Where a file cannot be used, its last good contents stay in force.
func (g *Gate) Reload() {
	if g.file != nil {
		g.file.reload()
	}
	if g.clients != nil && g.clients.file != nil {
		g.clients.file.reload()
	}
}

// Metadata returns the document by which clients find the issuer; nil without
// one.
func (g *Gate) Metadata() *Metadata { return g.metadata }

func (g *Gate) now() time.Time {
	if g.clock == nil {
		return time.Now()
	}
	return g.clock()
}

func openTokens(path string, gate Changes, log *slog.Logger) (*watched[[]staticToken], error) {
	return watch("tokens file", []string{path}, gate, log, func() ([]staticToken, error) {
		data, err := readSecret(path)
		if err != nil {
			return nil, err
		}
		rows, err := parseTokens(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return rows, nil
	})
}

// Authenticate implements [Authenticator]. The token decides if the request has
// one, and otherwise the certificate of its connection. Errors are of type
// *[Refusal]: 400 for a credential that was sent in a wrong way, 401 for one
// that is missing or not good, 403 for a certificate that is not listed, 503
// while a token cannot be checked.
func (g *Gate) Authenticate(r *http.Request) (Principal, error) {
	token, err := bearer(r)
	leaf := verified(r)
	switch {
	case errors.Is(err, errTwoHeaders), errors.Is(err, errInQuery):
		return Principal{}, g.malformed(err)
	case err != nil:
		return Principal{}, g.invalid(err)
	case token != "":
		return g.byToken(r, token)
	case leaf != nil && g.clients != nil:
		who, err := g.clients.authenticate(leaf)
		if err != nil {
			return Principal{}, &Refusal{Status: http.StatusForbidden, Msg: msgBadCert, Err: err}
		}
		return who, nil
	}
	return Principal{}, g.missing()
}

// byToken looks a token up in the tables, then asks the issuer's keys.
func (g *Gate) byToken(r *http.Request, token string) (Principal, error) {
	var named []staticToken
	if g.file != nil {
		named = g.file.current()
	}
	who, err := lookUp(token, g.now(), g.token, named)
	if errors.Is(err, errUnknownToken) && g.issuer != nil {
		who, err = g.issuer.authenticate(r, token)
	}
	switch {
	case err == nil:
		return who, nil
	case errors.Is(err, errKeysOut), r.Context().Err() != nil:
		return Principal{}, g.unavailable(err)
	}
	return Principal{}, g.invalid(err)
}
