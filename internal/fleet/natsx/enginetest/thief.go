package enginetest

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Thief has the key of a runner, in hands that keep no rules.
type Thief struct {
	t    testing.TB
	name string
	nc   *nats.Conn
}

// Thief connects with the key of a runner, whose seed is in a file.
func (s *Server) Thief(t testing.TB, name, seed string) *Thief {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(s.URL(), key, nats.CustomInboxPrefix("tip1.i.r."+name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return &Thief{t, name, nc}
}

// HasSent has the server send data to a subject: as the answer to a request for the thief's
// own copy. It returns when the server has answered.
func (f *Thief) HasSent(data, subject string) {
	f.t.Helper()
	const bare, patience = `{"no_hdr":true}`, 20 * time.Second
	own := "tip1.a.0." + f.name + ".trail"
	if _, err := f.nc.Request(own, []byte(data), patience); err != nil {
		f.t.Fatal(err)
	}
	if err := f.nc.PublishRequest("$JS.API.DIRECT.GET.AUDIT_0."+own, subject, []byte(bare)); err != nil {
		f.t.Fatal(err)
	}
	if m, err := f.nc.Request("$JS.API.DIRECT.GET.AUDIT_0."+own, []byte(bare), patience); err != nil || string(m.Data) != data {
		f.t.Fatalf("%v, %v", m, err) // the one before was answered before
	}
}
