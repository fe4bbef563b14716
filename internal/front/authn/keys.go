package authn

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How long keys are used, and how often an issuer is asked for them.
const (
	keysFresh = 10 * time.Minute // then they are fetched again, so that a withdrawn key ends
	keysStale = 6 * time.Hour    // how long they are used while the issuer cannot be reached
	keysPause = 10 * time.Second // at least this long between two fetches, whatever tokens come
)

// keys are an issuer's keys, fetched when a token needs them. Several
// goroutines may use it at once; one of them fetches while the others wait for
// it.
type keys struct {
	fetch func(ctx context.Context) (keyDocument, error)
	now   func() time.Time
	log   *slog.Logger

	mu      sync.Mutex
	set     []jose.JSONWebKey
	fetched time.Time     // when set was fetched
	tried   time.Time     // when the last fetch began
	flight  chan struct{} // closed when the fetch in progress ends
	faults  string        // the last logged faults of the keys
	err     error         // of the last fetch
}

var (
	errUnknownKey = errors.New("the issuer has no such key")
	errKeysOut    = errors.New("the issuer's keys cannot be had")
)

// find returns the keys that may have signed a token. It fetches the keys again
// when they are no longer fresh and when the issuer seems to have a new one,
// but at most once in keysPause, so that senders of forged tokens cannot cause
// more requests.
func (k *keys) find(ctx context.Context, kid string, alg jose.SignatureAlgorithm) ([]jose.JSONWebKey, error) {
	for asked := false; ; asked = true {
		found, ask, err := k.look(kid, alg)
		if !ask || asked {
			return found, err
		}
		if err := k.refresh(ctx); err != nil {
			return nil, err
		}
	}
}

// look searches the keys at hand, and says whether to fetch new ones.
func (k *keys) look(kid string, alg jose.SignatureAlgorithm) (found []jose.JSONWebKey, ask bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	ask = k.flight != nil || now.Sub(k.tried) >= keysPause
	if k.set == nil || now.Sub(k.fetched) >= keysStale {
		return nil, ask, errors.Join(errKeysOut, k.err)
	}
	found = candidates(k.set, kid, alg)
	if len(found) == 0 {
		return nil, ask, errUnknownKey
	}
	return found, ask && now.Sub(k.fetched) >= keysFresh, nil
}

// refresh fetches the keys, or waits for a fetch in progress. Its error is only
// that of ctx; look reports errors of the fetch.
func (k *keys) refresh(ctx context.Context) error {
	k.mu.Lock()
	if flight := k.flight; flight != nil {
		k.mu.Unlock()
		select {
		case <-flight:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if k.now().Sub(k.tried) < keysPause {
		k.mu.Unlock()
		return nil
	}
	k.flight, k.tried = make(chan struct{}), k.now()
	k.mu.Unlock()

	// A client that goes away must not end the fetch that others wait for.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*fetchTime)
	defer cancel()
	doc, err := k.fetch(ctx)
	k.land(doc, err)
	return nil
}

// land stores the result of a fetch.
func (k *keys) land(doc keyDocument, err error) {
	var set []jose.JSONWebKey
	var faults []string
	if err == nil {
		set, faults, err = doc.usable()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.flight)
	k.flight = nil
	if said := strings.Join(faults, "; "); said != k.faults {
		k.faults = said
		if said != "" {
			k.log.Warn("the issuer's key set has keys that are not used", "keys", said)
		}
	}
	if err != nil {
		if k.err == nil || k.err.Error() != err.Error() {
			k.log.Error("cannot get the issuer's keys", "error", err, "keys_from", k.fetched)
		}
		k.err = err
		return
	}
	k.set, k.fetched, k.err = set, k.now(), nil
}
