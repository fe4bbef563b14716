package config

import "strings"

// Callers are the settings by which callers over HTTP authenticate.
type Callers struct {
	Token      string // TIPSTAFF_TOKEN, as it is written; secret
	TokensFile string // TIPSTAFF_TOKENS_FILE
	OAuth      OAuth  // TIPSTAFF_OAUTH_*
	TLS        TLS    // TIPSTAFF_TLS_*
}

// OAuth are the settings of the issuer whose access tokens are accepted; the
// zero OAuth accepts none.
type OAuth struct {
	Issuer      string   // TIPSTAFF_OAUTH_ISSUER, as it is written
	Audience    string   // TIPSTAFF_OAUTH_AUDIENCE, as it is written
	KeysURL     string   // TIPSTAFF_OAUTH_JWKS_URL, as it is written
	Algorithms  []string // TIPSTAFF_OAUTH_ALGORITHMS
	ScopePrefix string   // TIPSTAFF_OAUTH_SCOPE_PREFIX, as it is written
}

// TLS are the certificates of the server and the settings for client
// certificates; the zero TLS uses neither.
type TLS struct {
	CertFile     string   // TIPSTAFF_TLS_CERT_FILE
	KeyFile      string   // TIPSTAFF_TLS_KEY_FILE
	ClientCAFile string   // TIPSTAFF_TLS_CLIENT_CA_FILE
	ClientsFile  string   // TIPSTAFF_TLS_CLIENTS_FILE
	ClientScopes []string // TIPSTAFF_TLS_CLIENT_SCOPES

	// ClientOptional is TIPSTAFF_TLS_CLIENT_CERT=optional: clients may come
	// without a certificate.
	ClientOptional bool
}

func (r *reader) callers() Callers {
	return Callers{
		Token:      r.vars["TIPSTAFF_TOKEN"],
		TokensFile: r.path("TIPSTAFF_TOKENS_FILE"),
		OAuth: OAuth{
			Issuer:      r.vars["TIPSTAFF_OAUTH_ISSUER"],
			Audience:    r.vars["TIPSTAFF_OAUTH_AUDIENCE"],
			KeysURL:     r.vars["TIPSTAFF_OAUTH_JWKS_URL"],
			Algorithms:  r.words("TIPSTAFF_OAUTH_ALGORITHMS"),
			ScopePrefix: r.vars["TIPSTAFF_OAUTH_SCOPE_PREFIX"],
		},
		TLS: TLS{
			CertFile:       r.path("TIPSTAFF_TLS_CERT_FILE"),
			KeyFile:        r.path("TIPSTAFF_TLS_KEY_FILE"),
			ClientCAFile:   r.path("TIPSTAFF_TLS_CLIENT_CA_FILE"),
			ClientsFile:    r.path("TIPSTAFF_TLS_CLIENTS_FILE"),
			ClientScopes:   r.words("TIPSTAFF_TLS_CLIENT_SCOPES"),
			ClientOptional: r.clientOptional(),
		},
	}
}

// words reads a variable that holds words separated by commas. An empty word
// between two commas is kept, so that the code that knows the words can refuse
// it.
func (r *reader) words(name string) []string {
	v := strings.TrimSpace(r.vars[name])
	if v == "" {
		return nil
	}
	words := strings.Split(v, ",")
	for i, w := range words {
		words[i] = strings.TrimSpace(w)
	}
	return words
}

func (r *reader) clientOptional() bool {
	const name = "TIPSTAFF_TLS_CLIENT_CERT"
	switch r.text(name, "required") {
	case "optional":
		return true
	case "required":
	default:
		r.fault(name, "must be required or optional")
	}
	return false
}
