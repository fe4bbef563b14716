package approval

import (
	"testing"
	"time"
)

func sealed(t testing.TB) (*Sealer, State, string) {
	t.Helper()
	s, err := NewSealer()
	if err != nil {
		t.Fatal(err)
	}
	st := State{Handle: "apr_x", Principal: "me", Tool: "execute_command", Arguments: DigestOf([]byte("{}")), Expires: time.Unix(1e9, 0).UTC()}
	text, err := s.Seal(st)
	if err != nil {
		t.Fatal(err)
	}
	return s, st, text
}

func TestASealOpensForItsMakerAloneAndUnchanged(t *testing.T) {
	s, st, text := sealed(t)
	if got, err := s.Unseal(text); err != nil || got != st {
		t.Fatalf("%+v, %v", got, err)
	}
	other, _, _ := sealed(t)
	if _, err := other.Unseal(text); err == nil {
		t.Error("another server opened it")
	}
	again, _ := s.Seal(st)
	if again == text {
		t.Error("two seals are alike")
	}
	for i := range len(text) {
		for _, c := range []byte("A_z0") {
			if text[i] == c {
				continue
			}
			if _, err := s.Unseal(text[:i] + string(c) + text[i+1:]); err == nil {
				t.Fatalf("changed at %d, it opened", i)
			}
		}
	}
	for _, bad := range []string{"", "A", text[:len(text)-1], text + "A", text + "=", text + "\n", " " + text, text + text} {
		if _, err := s.Unseal(bad); err == nil {
			t.Errorf("%q opened", bad)
		}
	}
}

func TestServersWithOneKeyOpenWhatTheOthersHaveSealed(t *testing.T) {
	key := make([]byte, 32)
	one, err := NewSealerOf(key)
	if err != nil {
		t.Fatal(err)
	}
	two, _ := NewSealerOf(key)
	st := State{Handle: "apr_x", Principal: "me", Runner: "r1.00000000000000aa"}
	text, err := one.Seal(st)
	if got, fault := two.Unseal(text); err != nil || fault != nil || got != st {
		t.Errorf("%+v, %v, %v", got, err, fault)
	}
	key[0] = 1
	if other, _ := NewSealerOf(key); other != nil {
		if _, err := other.Unseal(text); err == nil {
			t.Error("another key opened it")
		}
	}
	if _, err := NewSealerOf(key[:5]); err == nil {
		t.Error("a key of 5 bytes")
	}
}

func FuzzUnseal(f *testing.F) {
	s, st, text := sealed(f)
	f.Add(text)
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, in string) {
		if got, err := s.Unseal(in); err == nil && (in != text || got != st) {
			t.Errorf("%q opened as %+v", in, got)
		}
	})
}
