//go:build linux && !race

package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// natsServer builds the stock server, of the version that go.mod names.
func natsServer(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "nats-server")
	build := exec.Command("go", "build", "-o", bin, "github.com/nats-io/nats-server/v2")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// noise is what no compression makes smaller.
func noise(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.Read(b) // it never fails
	return b
}

// streams are those of a fleet, without a fleet.
type streams struct {
	t            *testing.T
	gateway      *natsx.Conn
	auditor      *natsx.Conn
	acknowledged map[uint64][]byte
}

// streams makes them as a gateway does, and waits until a record is taken.
func (f *fleet) streams() *streams {
	t := f.t
	t.Helper()
	member := func(role natsx.Role, name string) *natsx.Conn {
		conn, err := natsx.Connect(t.Context(), natsx.Options{Servers: []string{"nats://10.77.0.1:4222"}, Role: role, Name: name, Credentials: filepath.Join(f.dir, name+".nk")})
		must(t, err)
		t.Cleanup(conn.Close)
		return conn
	}
	s := &streams{t, member(natsx.Gateway, "g1"), member(natsx.Auditor, "auditor"), map[uint64][]byte{}}
	var last error
	eventually(t, "a stream on three servers", time.Minute, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		last = s.gateway.MakeStreams(ctx, 3)
		return last == nil && s.put(10) == nil
	}, func() string { return fmt.Sprint(last, "\n", f.engine[0].tail(20)) })
	return s
}

// put writes a record of so many bytes, as a trail of its own, which none follows.
func (s *streams) put(size int) error {
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Second)
	defer cancel()
	data := noise(size)
	at, err := s.gateway.AppendCopy(ctx, natsx.Copy{Subject: natsx.TrailSubject(0, "g1", newID("t")), ID: newID("m"), Header: "{}", Data: data})
	if err == nil {
		s.acknowledged[at] = data
	}
	return err
}

func (s *streams) read(number uint64) (natsx.StoredCopy, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Second)
	defer cancel()
	return s.auditor.GetCopy(ctx, 0, number)
}

// whole reads everything that was acknowledged; any of so many servers answers, so it
// asks more often than that.
func (s *streams) whole(servers int) {
	s.t.Helper()
	for number, want := range s.acknowledged {
		for range 2 * servers {
			got, err := s.read(number)
			if err != nil || !bytes.Equal(got.Data, want) {
				s.t.Fatalf("of %d records, %d cannot be read as it was acknowledged: %d bytes, %v", len(s.acknowledged), number, len(got.Data), err)
			}
		}
	}
}

// TestTheServersFailAsTheyAreTold: a cluster of three takes records with one of
// them killed, and none with two; on a full disk it says so.
func TestTheServersFailAsTheyAreTold(t *testing.T) {
	needNamespaces(t)
	notOfTheSix(t)
	bin := natsServer(t)
	f := &fleet{t: t, dir: t.TempDir(), bin: tipstaff(t), lan: newLAN(t)}
	all := f.cluster(bin, f.keys())
	f.engine = all
	s := f.streams()
	f.replicated("at the start")
	for _, n := range all {
		n.stop(20 * time.Second) // it leaves a snapshot
		n.start()
		for range 40 {
			_ = s.put(4 << 10) // some while there is an election
		}
		n.kill() // and goes back to it, with what came after from its log
		n.start()
		eventually(t, "a record after "+n.name()+" was killed", time.Minute, func() bool { return s.put(10) == nil }, func() string { return n.tail(20) })
	}
	f.replicated("after each of them was stopped and killed")
	s.whole(len(all))
	all[2].kill()
	eventually(t, "a record with two of three", time.Minute, func() bool { return s.put(10) == nil }, func() string { return "" })
	all[1].kill()
	if s.put(10) == nil {
		t.Error("one of three has acknowledged a record")
	}
	all[1].start()
	all[2].start()
	eventually(t, "a record with all of them again", time.Minute, func() bool { return s.put(10) == nil }, func() string { return "" })
	for _, n := range all {
		n.fill()
	}
	full := false
	for range 200 {
		if s.put(64<<10) != nil {
			full = true
			break
		}
	}
	if !full {
		t.Error("200 records of 64 KiB are acknowledged by servers with full disks")
	}
	f.empty(all...)
	eventually(t, "a record with room again", time.Minute, func() bool { return s.put(10) == nil }, func() string { return "" })
	f.replicated("with room again")
	s.whole(len(all))
	for _, n := range all {
		n.stop(20 * time.Second)
	}
}
