package replicate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tipstaff/internal/audit"
	"tipstaff/internal/fleet/natsx"
	"tipstaff/internal/fleet/natsx/enginetest"
	"tipstaff/internal/fleet/replicate"
)

// members starts a server by the configuration that "tipstaff engine config"
// prints, and connects its members.
func members(t *testing.T, roles map[string]natsx.Role) map[string]*natsx.Conn {
	t.Helper()
	dir := t.TempDir()
	c := natsx.ServerConfig{Listen: "127.0.0.1:4222", Store: t.TempDir()}
	for name, role := range roles {
		seed, public, err := natsx.NewKey()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(seed), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Members = append(c.Members, natsx.Member{Roles: []natsx.Role{role}, Name: name, Key: public})
	}
	text, err := c.Text()
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "nats.conf"), []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := enginetest.StartFile(t, filepath.Join(dir, "nats.conf"))
	conns := map[string]*natsx.Conn{}
	for name, role := range roles {
		conns[name] = s.ConnectWith(natsx.Options{Role: role, Name: name, Credentials: filepath.Join(dir, name)})
	}
	return conns
}

// TestTheKeyOfARunnerCopiesItsOwnTrailsAndNoOthers, with the permissions that
// "tipstaff engine config" prints, and an auditor reads them.
func TestTheKeyOfARunnerCopiesItsOwnTrailsAndNoOthers(t *testing.T) {
	t.Parallel()
	m := members(t, map[string]natsx.Role{"g1": natsx.Gateway, "r1": natsx.Runner, "r2": natsx.Runner, "o1": natsx.Auditor})
	if err := m["g1"].MakeStreams(within(t), 1); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"g1", "r1"} {
		p := begin(t, t.TempDir(), m[name], replicate.Options{Name: name, Strict: true})
		p.write(150)
		if err := errors.Join(p.shipper.Confirm(), p.end()); err != nil {
			t.Fatal(err)
		}
	}
	copies, err := replicate.ReadCopies(within(t), m["o1"], "")
	if err != nil {
		t.Fatal(err)
	}
	report, err := audit.Files{In: copies}.Verify(".", audit.VerifyOptions{})
	if err != nil || len(report.Trails) != 2 || report.Status() != audit.OK {
		t.Errorf("%+v, %v", report, err)
	}
	for name, c := range m {
		if n := c.Refused(); n > 0 {
			t.Errorf("%s was refused %d times", name, n)
		}
	}

	other := replicate.Source{Name: "r1", Trail: "20260101T120000Z-4711-c0ffee00"}
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	forged := natsx.Copy{Stream: other.Stream(), Subject: other.Subject(), ID: "x", Data: []byte("forged")}
	for _, name := range []string{"r2", "o1"} {
		if _, err := m[name].AppendCopy(short(), forged); !errors.Is(err, natsx.ErrForbidden) {
			t.Errorf("%s writes a copy of r1: %v", name, err)
		}
	}
	if _, err := m["r2"].LastCopy(short(), other.Stream(), other.Subject()); !errors.Is(err, natsx.ErrForbidden) {
		t.Errorf("r2 reads a copy of r1: %v", err)
	}
	if _, err := m["r2"].GetCopy(short(), other.Stream(), 1); !errors.Is(err, natsx.ErrForbidden) {
		t.Errorf("r2 reads any copy: %v", err)
	}
	if _, err := m["r1"].AppendCopy(within(t), forged); err != nil { // the control: with its own key it works
		t.Errorf("r1 writes its own copy: %v", err)
	}
}
