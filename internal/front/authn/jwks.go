package authn

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tipstaff/internal/strictjson"

	"github.com/go-jose/go-jose/v4"
)

// maxKeys bounds a key set; issuers have a handful.
const maxKeys = 100

// keyDocument is a JWKS (RFC 7517, section 5). Keys are kept unparsed at first,
// so that an unknown or unusable key does not spoil the others.
type keyDocument struct {
	Keys []json.RawMessage `json:"keys"`
}

var errNoKeys = errors.New("there is no key in it that could check a signature")

// usable returns the keys that may verify signatures, and a sentence about each
// key that should not be in the set at all.
func (d keyDocument) usable() (keys []jose.JSONWebKey, faults []string, err error) {
	if len(d.Keys) > maxKeys {
		return nil, nil, fmt.Errorf("there are more than %d keys", maxKeys)
	}
	for i, raw := range d.Keys {
		key, fault := usableKey(raw)
		switch {
		case fault != "":
			faults = append(faults, fmt.Sprintf("key %d %s", i+1, fault))
		case key.Key != nil:
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, faults, errNoKeys
	}
	return keys, faults, nil
}

// usableKey reads one key. A key of an unknown kind or for another purpose
// gives neither a key nor a fault: RFC 7517 requires that it is ignored.
func usableKey(raw json.RawMessage) (key jose.JSONWebKey, fault string) {
	var look struct {
		Kty  string           `json:"kty"`
		Ops  []string         `json:"key_ops"`
		D    *json.RawMessage `json:"d"`
		P    *json.RawMessage `json:"p"`
		Q    *json.RawMessage `json:"q"`
		K    *json.RawMessage `json:"k"`
		Priv *json.RawMessage `json:"priv"`
	}
	if err := strictjson.Unmarshal(raw, &look); err != nil {
		return key, "is no JSON Web Key"
	}
	if look.D != nil || look.P != nil || look.Q != nil || look.K != nil || look.Priv != nil {
		return key, "is secret and has been published: anyone who has it can make tokens; it is not used"
	}
	if !slices.Contains([]string{"RSA", "EC", "OKP"}, look.Kty) || look.Ops != nil && !slices.Contains(look.Ops, "verify") {
		return key, ""
	}
	if err := key.UnmarshalJSON(raw); err != nil || !key.IsPublic() || !key.Valid() {
		if errors.Is(err, jose.ErrUnsupportedKeyType) {
			return jose.JSONWebKey{}, ""
		}
		return jose.JSONWebKey{}, "cannot be read"
	}
	if key.Use != "" && key.Use != "sig" {
		return jose.JSONWebKey{}, ""
	}
	if k, ok := key.Key.(*rsa.PublicKey); ok && (k.N.BitLen() < 2048 || k.N.BitLen() > 8192) {
		return jose.JSONWebKey{}, fmt.Sprintf("has %d bits; 2048 to 8192 are taken", k.N.BitLen())
	}
	return key, ""
}

// fits reports whether a key is for an algorithm. The algorithm named in a
// token does not choose the kind of key: both have to agree.
func fits(key jose.JSONWebKey, alg jose.SignatureAlgorithm) bool {
	if key.Algorithm != "" && key.Algorithm != string(alg) {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(string(alg), "RS") || strings.HasPrefix(string(alg), "PS")
	case *ecdsa.PublicKey:
		bits := map[jose.SignatureAlgorithm]int{jose.ES256: 256, jose.ES384: 384, jose.ES512: 521}
		return k.Curve.Params().BitSize == bits[alg]
	case ed25519.PublicKey:
		return alg == jose.EdDSA
	}
	return false
}

// candidates returns the keys that may have signed a token. For a token that
// names no key there must be only one candidate.
func candidates(keys []jose.JSONWebKey, kid string, alg jose.SignatureAlgorithm) []jose.JSONWebKey {
	var found []jose.JSONWebKey
	for _, key := range keys {
		if fits(key, alg) && (kid == "" || key.KeyID == kid) {
			found = append(found, key)
		}
	}
	if kid == "" && len(found) > 1 {
		return nil
	}
	return found
}
