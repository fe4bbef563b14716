package authn

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"math"
	"time"
)

// tokenPrefix makes our tokens recognisable: to people, to scanners that look
// for leaked secrets, and to internal/redact, which hides every word of this
// form from the record.
const tokenPrefix = "tps_"

// NewToken returns a new token with 260 random bits.
func NewToken() string { return tokenPrefix + rand.Text() + rand.Text() }

// CheckToken reports why a token that an operator has chosen is too weak. The
// error does not repeat the token.
func CheckToken(token string) error {
	const hint = `make one with "tipstaff token new"`
	switch {
	case len(token) < 32:
		return errors.New("a token has at least 32 characters; " + hint)
	case len(token) > maxToken:
		return fmt.Errorf("a token has at most %d characters; %s", maxToken, hint)
	case !tokenSyntax(token):
		return errors.New("a token consists of letters, digits and - . _ ~ + /, perhaps with = at its end; others cannot be sent in a header; " + hint)
	case bits(token) < 80 || repeats(token):
		return errors.New("the token repeats itself and could be guessed; " + hint)
	}
	return nil
}

// bits estimates how hard s is to guess, from the frequency of its characters.
// It detects only words that were made long by repetition.
func bits(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	sum := 0.0
	for _, n := range count {
		if n > 0 {
			sum -= float64(n) * math.Log2(float64(n)/float64(len(s)))
		}
	}
	return sum
}

// repeats reports whether s repeats a few pieces: then hardly any sequence of
// four characters occurs only once.
func repeats(s string) bool {
	const piece = 4
	pieces := map[string]bool{}
	n := len(s) - piece + 1
	for i := range n {
		pieces[s[i:i+piece]] = true
	}
	return 4*len(pieces) < 3*n
}

// staticToken holds a token by its hash. A plain hash is enough, because 256
// random bits cannot be guessed.
type staticToken struct {
	hash    [sha256.Size]byte
	who     Principal
	expires time.Time // zero: never
}

// oneToken returns the table for the single token of the settings.
func oneToken(token string) []staticToken {
	return []staticToken{{hash: sha256.Sum256([]byte(token)), who: Principal{Name: "token", Scopes: All()}}}
}

var (
	errUnknownToken = errors.New("no such token")
	errExpiredToken = errors.New("the token has expired")
)

// lookUp finds the row of a token. It compares hashes in constant time and with
// every row of every table, so that the time tells neither how much of a guess
// was right nor which row matched.
func lookUp(token string, now time.Time, tables ...[]staticToken) (Principal, error) {
	hash := sha256.Sum256([]byte(token))
	var row staticToken
	for _, rows := range tables {
		found := -1
		for i := range rows {
			found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(rows[i].hash[:], hash[:]), i, found)
		}
		if found >= 0 {
			row = rows[found]
		}
	}
	switch {
	case row.who.Name == "":
		return Principal{}, errUnknownToken
	case !row.expires.IsZero() && !now.Before(row.expires):
		return Principal{}, fmt.Errorf("%w (%s)", errExpiredToken, row.who.Name)
	}
	return row.who, nil
}
