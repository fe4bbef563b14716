package ipc

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func full() Message {
	return Message{
		Kind: Ask, ID: 7, Text: "a\nb", Words: []string{"printf", "\xff\x00", ""}, Environment: []string{"A=b", "C"}, Directory: "/w", State: "f() { :; }",
		Line: 3, Column: 9, Code: -1, Number: 42, Write: true, Continue: true, WantNumber: true, Refused: true, UserNanoseconds: 1 << 40, SystemNanoseconds: 5,
	}
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	for _, m := range []Message{full(), {Kind: Ready}, {Kind: Done, Code: 1}} {
		got, err := decode(m.append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestEveryCutMessageIsRefused(t *testing.T) {
	m := full()
	b := m.append(nil)
	for n := range len(b) {
		if m, err := decode(b[:n]); err == nil {
			t.Errorf("the first %d of %d bytes gave %+v", n, len(b), m)
		}
	}
	if m, err := decode(append(b, 0)); err == nil {
		t.Errorf("a byte too many gave %+v", m)
	}
}

func FuzzDecode(f *testing.F) {
	m := full()
	f.Add(m.append(nil))
	f.Add([]byte{byte(Done), 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(m.append(nil))
		if diff := cmp.Diff(m, again); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	})
}
