package identity

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How long keys count, and how often an issuer is asked for them.
const (
	keysFresh = 10 * time.Minute // then they are asked for again: a key that was withdrawn ends
	keysStale = 6 * time.Hour    // so long they count while the issuer cannot be reached
	keysPause = 10 * time.Second // between two questions, whatever tokens come
)

// keys are an issuer's, fetched when a token needs them. They may be asked for by
// many at once; one of them fetches, the others wait for it.
type keys struct {
	fetch func(ctx context.Context) (keyDocument, error)
	now   func() time.Time
	log   *slog.Logger

	mu      sync.Mutex
	set     []jose.JSONWebKey
	fetched time.Time     // when set came
	tried   time.Time     // when it was asked for last
	flight  chan struct{} // closed when the question that is under way has its answer
	faults  string        // what was said of the keys last
	err     error         // of the last question
}

var (
	errUnknownKey = errors.New("the issuer has no such key")
	errKeysOut    = errors.New("the issuer's keys cannot be had")
)

// find gives the keys that may have signed a token. The issuer is asked again
// when the keys are no longer fresh and when it seems to have a new one, and at
// most once in keysPause: those who send forged tokens do not decide how often.
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

// look looks at the keys that are there, and says whether to ask for others.
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

// refresh asks the issuer, or waits for the answer to whoever asks already. Its
// error is only that of ctx: what the issuer answered is for look to see.
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

	// A client that goes away must not take the answer from those who wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*fetchTime)
	defer cancel()
	doc, err := k.fetch(ctx)
	k.land(doc, err)
	return nil
}

// land takes the answer of an issuer.
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
