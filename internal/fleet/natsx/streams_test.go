package natsx_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
)

const someTrail = "20260101T120000Z-4711-c0ffee00"

func TestACopyFollowsExactlyTheOneBefore(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	c := s.Connect(natsx.Runner, "r1")
	subject := natsx.TrailSubject(2, "r1", someTrail)
	add := func(id string, after uint64, text string) (uint64, error) {
		return c.AppendCopy(within(t), natsx.Copy{Stream: 2, Subject: subject, ID: id, After: after, Header: `{"no":"` + id + `"}`, Data: []byte(text)})
	}
	if _, err := add("1", 0, "one"); !errors.Is(err, natsx.ErrNoStream) || !strings.Contains(err.Error(), "AUDIT_2") {
		t.Errorf("no stream yet: %v", err)
	}
	if _, err := c.LastCopy(within(t), 2, subject); !errors.Is(err, natsx.ErrNoStream) {
		t.Errorf("no stream to ask: %v", err)
	}
	if err := s.Connect(natsx.Gateway, "g1").MakeStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.LastCopy(within(t), 2, subject); !errors.Is(err, natsx.ErrNoCopy) {
		t.Errorf("nothing yet: %v", err)
	}
	first, err := add("1", 0, "one")
	if err != nil {
		t.Fatal(err)
	}
	other := natsx.TrailSubject(2, "r2", someTrail)
	if _, err := c.AppendCopy(within(t), natsx.Copy{Stream: 2, Subject: other, ID: "other", Data: []byte("other")}); err != nil {
		t.Fatal(err)
	}
	second, err := add("2", first, "second")
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() (uint64, error){
		"the same again":              func() (uint64, error) { return add("2", first, "second") },
		"behind one that is not last": func() (uint64, error) { return add("3", first, "third") },
		"as the first one":            func() (uint64, error) { return add("4", 0, "fourth") },
	} {
		if _, err := try(); !errors.Is(err, natsx.ErrMoved) {
			t.Errorf("%s: %v", name, err)
		}
	}
	last, err := c.LastCopy(within(t), 2, subject)
	if err != nil || last.Sequence != second || last.Header != `{"no":"2"}` || string(last.Data) != "second" || last.Subject != subject {
		t.Errorf("the last one: %+v, %v", last, err)
	}
	one, err := c.GetCopy(within(t), 2, first)
	if err != nil || string(one.Data) != "one" {
		t.Errorf("the first one: %+v, %v", one, err)
	}
	if _, err := c.GetCopy(within(t), 2, 1000); !errors.Is(err, natsx.ErrNoCopy) {
		t.Errorf("one that is not there: %v", err)
	}
	var list []natsx.StoredCopy
	take := func(m natsx.StoredCopy) error { list = append(list, m); return nil }
	next, err := c.ListCopies(within(t), 2, natsx.CopySubjects(2, "r1"), 0, take)
	if err != nil || len(list) != 2 || list[0].Sequence != first || list[1].Size != len("second") || list[1].Header != last.Header || next <= second {
		t.Errorf("the list: %+v, next %d, %v", list, next, err)
	}
	for _, from := range []uint64{next, second + 1} { // nothing, and nothing of this name
		if got, err := c.ListCopies(within(t), 2, natsx.CopySubjects(2, "r1"), from, take); err != nil || len(list) != 2 || got != next {
			t.Errorf("from %d on: %d, %v", from, got, err)
		}
	}
	if next, err := c.ListCopies(within(t), 5, natsx.CopySubjects(5, ""), 0, take); err != nil || len(list) != 2 {
		t.Errorf("a stream with nothing: %d, %v", next, err)
	}
}

func TestTheFaultsOfAStreamHaveNames(t *testing.T) {
	t.Parallel()
	s := enginetest.Start(t)
	nc, err := nats.Connect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Connect(natsx.Runner, "r1")
	add := func(stream int, size int) error {
		_, err := c.AppendCopy(within(t), natsx.Copy{Stream: stream, Subject: natsx.TrailSubject(stream, "r1", someTrail), ID: time.Now().String(), Data: make([]byte, size)})
		return err
	}
	for _, limits := range []jetstream.StreamConfig{
		{Name: "AUDIT_0", Subjects: []string{"tip1.a.0.>"}, MaxMsgSize: 1000},
		{Name: "AUDIT_1", Subjects: []string{"tip1.a.1.>"}, MaxBytes: 5000, Discard: jetstream.DiscardNew},
		{Name: "OTHER", Subjects: []string{"tip1.a.2.>"}},
	} {
		if _, err := js.CreateStream(within(t), limits); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(0, 2000); !errors.Is(err, natsx.ErrTooLarge) {
		t.Errorf("the stream takes less: %v", err)
	}
	if err := add(0, int(c.MaxPayload())); !errors.Is(err, natsx.ErrTooLarge) {
		t.Errorf("the server takes less: %v", err)
	}
	if err := add(1, 9000); !errors.Is(err, natsx.ErrFull) {
		t.Errorf("a full stream: %v", err)
	}
	if err := add(2, 10); !errors.Is(err, natsx.ErrNoStream) {
		t.Errorf("another stream takes up the subject: %v", err)
	}
	if err := add(3, 10); !errors.Is(err, natsx.ErrNoStream) {
		t.Errorf("no stream: %v", err)
	}
	s.StopJetStream()
	if err := add(0, 10); !errors.Is(err, natsx.ErrNoStream) && !errors.Is(err, natsx.ErrUnanswered) {
		t.Errorf("no JetStream: %v", err)
	}
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		changed := c.Changed() // before the look, so that nothing is missed
		if c.State() != nil {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatal("the connection does not end")
		}
	}
	if err := add(0, 10); !errors.Is(err, natsx.ErrUnavailable) {
		t.Errorf("no server: %v", err)
	}
}
