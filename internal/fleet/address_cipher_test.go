package fleet_test

import (
	"bytes"
	"encoding/base32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tipstaff/internal/fleet"
	"tipstaff/internal/fleet/natsx"
)

func newSeal(t testing.TB, fill byte) fleet.AddressCipher {
	t.Helper()
	s, err := fleet.NewAddressCipher(bytes.Repeat([]byte{fill}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func member(name string) natsx.Address {
	return natsx.Address{Name: name, InstanceID: natsx.NewInstanceID()}
}

func TestAnIdLeadsToWhereItWasMade(t *testing.T) {
	t.Parallel()
	s, a := newSeal(t, 1), member("r1")
	tail := s.NewTail(a)
	if len(tail) != fleet.TailLength || strings.Trim(tail, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
		t.Errorf("a tail is %q", tail)
	}
	for _, id := range []string{tail, "term-task-1732370000000-" + tail, "term-a-b_c-17-" + tail, "cmd_" + tail} {
		if p, ok := s.Open(id); !ok || p != s.AddressKey(a) {
			t.Errorf("%s leads elsewhere", id)
		}
	}
	for name, id := range map[string]string{
		"nothing": "", "an id of one machine": "cmd_ABCDEFGHIJKLMNOPQRSTUVWXYZ", "lower case": strings.ToLower(tail),
		"one more": tail + "A", "one less": tail[1:], "other letters": strings.Repeat("1", 52), "bits that do not count": tail[:51] + "7",
	} {
		if p, ok := s.Open(id); ok && p == s.AddressKey(a) {
			t.Errorf("%s leads there", name)
		}
	}
	if p, ok := newSeal(t, 2).Open(tail); !ok || p == s.AddressKey(a) {
		t.Error("another seal opens it")
	}
	if _, ok := (fleet.AddressCipher{}).Open(tail); ok {
		t.Error("no seal opens it")
	}
	if newSeal(t, 2).AddressKey(a) == s.AddressKey(a) {
		t.Error("a place does not depend on the seal")
	}
}

// Equal runners leave nothing equal: over many ids of one runner, each bit is as
// often set as not, and so is each difference of two neighbours' bits.
func TestIdsOfOneRunnerHaveNothingInCommon(t *testing.T) {
	t.Parallel()
	const ids = 4000
	s, a := newSeal(t, 1), member("r1")
	var ones, same [256]int
	var last []byte
	for range ids {
		b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(s.NewTail(a))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 256 {
			bit := b[i/8] >> (i % 8) & 1
			ones[i] += int(bit)
			if last != nil && bit == last[i/8]>>(i%8)&1 {
				same[i]++
			}
		}
		last = b
	}
	const far = 200 // six standard deviations of 4000 throws of a coin
	for i := range 256 {
		if d := ones[i] - ids/2; d > far || d < -far {
			t.Errorf("bit %d is set in %d of %d ids", i, ones[i], ids)
		}
		if d := same[i] - ids/2; d > far || d < -far {
			t.Errorf("bit %d stays the same in %d of %d ids", i, same[i], ids)
		}
	}
}

func TestASealIsReadStrictly(t *testing.T) {
	t.Parallel()
	write := func(text string) string {
		file := filepath.Join(t.TempDir(), "seal")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	a := member("r1")
	raw, err := fleet.ReadAddressCipher(write(strings.Repeat("\x11", 32)))
	if err != nil {
		t.Fatal(err)
	}
	digits, err := fleet.ReadAddressCipher(write(strings.Repeat("11", 32) + "\n"))
	if err != nil || digits.AddressKey(a) != raw.AddressKey(a) {
		t.Errorf("the same as digits: %v", err)
	}
	for name, text := range map[string]string{"nothing": "", "too short": strings.Repeat("x", 31), "too long": strings.Repeat("x", 33), "64 others": strings.Repeat("zz", 32)} {
		if _, err := fleet.ReadAddressCipher(write(text)); err == nil || !strings.Contains(err.Error(), "32 bytes") || !strings.Contains(err.Error(), "urandom") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := fleet.ReadAddressCipher(write("") + "none"); err == nil {
		t.Error("a file that is not there")
	}
}

func FuzzOpenTakesAnyText(f *testing.F) {
	s, a := newSeal(f, 1), member("r1")
	f.Add(s.NewTail(a))
	f.Add("term-x-1-" + strings.Repeat("A", 52))
	f.Add("term--_")
	f.Fuzz(func(t *testing.T, id string) {
		p, ok := s.Open(id)
		if !ok && p != (fleet.AddressKey{}) {
			t.Errorf("%q leads somewhere and nowhere", id)
		}
		if ok && p == s.AddressKey(member("r1")) {
			t.Errorf("%q leads to a runner that was never told of", id)
		}
	})
}
