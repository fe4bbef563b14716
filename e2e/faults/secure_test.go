//go:build linux && !race

package faults

import (
	"path/filepath"

	"tipstaff/internal/testing/testpki"
)

// secure gives the fleet an authority: servers and members speak TLS 1.3 from here
// on, and show each other certificates, as docs/scale.md tells operators. Without
// it everything goes in the clear.
func (f *fleet) secure() { f.authority = testpki.New(f.t, f.directory("pki")) }

func (f *fleet) scheme() string {
	if f.authority == nil {
		return "nats://"
	}
	return "tls://"
}

// shows are the settings by which a member shows who it is; each asking makes a
// new certificate.
func (f *fleet) shows(name string) []string {
	if f.authority == nil {
		return nil
	}
	cert, key := f.authority.Client(f.t, name)
	return []string{"TIPSTAFF_ENGINE_TLS_CA=" + f.authority.File, "TIPSTAFF_ENGINE_TLS_CERT=" + cert, "TIPSTAFF_ENGINE_TLS_KEY=" + key}
}

// clusterSecret is the file that lets servers into the cluster.
func (f *fleet) clusterSecret() string { return filepath.Join(f.dir, "cluster.secret") }
