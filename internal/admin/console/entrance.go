package console

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

// entrance knows the one-time address and the browsers that have come in by one.
type entrance struct {
	mu       sync.Mutex
	key      [sha256.Size]byte // digest of the one-time key that counts
	until    time.Time         // when it stops counting; zero: there is none
	browsers map[[sha256.Size]byte]*browser
}

// browser is one that has come in.
type browser struct {
	seen    time.Time
	notice  string // what its next page says of its last act
	streams int    // that are open
}

const (
	// keyTime is how long a one-time address counts.
	keyTime = 5 * time.Minute
	// browserTime is how long a browser may stay away.
	browserTime = 12 * time.Hour
	// mostBrowsers bounds those that are known; the one seen least recently goes.
	mostBrowsers = 32
)

const cookieName = "tipstaff_console"

func newEntrance() *entrance {
	return &entrance{browsers: map[[sha256.Size]byte]*browser{}}
}

// newKey makes a one-time key; an earlier one counts no longer.
func (e *entrance) newKey(now time.Time) string {
	key := rand.Text() + rand.Text()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.key, e.until = sha256.Sum256([]byte(key)), now.Add(keyTime)
	return key
}

// admit uses up the one-time key and returns the cookie of a new browser.
// Digests are compared, so the time that it takes tells nothing of the key.
func (e *entrance) admit(key string, now time.Time) (cookie string, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.until.IsZero() || !now.Before(e.until) || sha256.Sum256([]byte(key)) != e.key {
		return "", false
	}
	e.until = time.Time{}
	e.forget(now)
	cookie = rand.Text() + rand.Text()
	e.browsers[sha256.Sum256([]byte(cookie))] = &browser{seen: now}
	return cookie, true
}

// forget makes room for one browser more.
func (e *entrance) forget(now time.Time) {
	var last [sha256.Size]byte
	var oldest *browser
	for d, b := range e.browsers {
		if now.Sub(b.seen) > browserTime {
			delete(e.browsers, d)
		} else if oldest == nil || b.seen.Before(oldest.seen) {
			last, oldest = d, b
		}
	}
	if len(e.browsers) >= mostBrowsers {
		delete(e.browsers, last)
	}
}

// knows reports whether a request comes from a browser that has come in.
func (e *entrance) knows(r *http.Request, now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.browserOf(r)
	if b == nil || now.Sub(b.seen) > browserTime {
		return false
	}
	b.seen = now
	return true
}

// browserOf returns the browser of a request; nil if it has not come in. The
// caller holds the lock.
func (e *entrance) browserOf(r *http.Request) *browser {
	c, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	return e.browsers[sha256.Sum256([]byte(c.Value))]
}

// mostStreamsOf bounds the streams of events of one browser. Browsers make six
// connections to a server and let everything else wait for one of them: without a free
// one a person who looks at six pages could stop nothing.
const mostStreamsOf = 4

// beginStream takes a place for a stream of a browser; ok is false if it has none left.
func (e *entrance) beginStream(r *http.Request) (end func(), ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.browserOf(r)
	if b == nil || b.streams >= mostStreamsOf {
		return nil, false
	}
	b.streams++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		b.streams--
	}, true
}

// leaveNotice keeps a sentence for the browser's next page, takeNotice gives it
// out once.
func (e *entrance) leaveNotice(r *http.Request, notice string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.browserOf(r); b != nil {
		b.notice = notice
	}
}

func (e *entrance) takeNotice(r *http.Request) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.browserOf(r)
	if b == nil {
		return ""
	}
	notice := b.notice
	b.notice = ""
	return notice
}
