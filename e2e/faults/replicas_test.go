//go:build linux && !race

package faults

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"tipstaff/internal/fleet/natsx"
)

// copies of everything that the servers keep: so many servers can die less one half.
const replicas = 3

// kept are the streams that a fleet has.
func kept() []string {
	names := []string{"KV_tip1_runners", "KV_tip1_claims", "KV_tip1_frozen"}
	for i := range natsx.CopyStreams {
		names = append(names, natsx.CopyStream(i))
	}
	return names
}

// replicated waits until every server says of itself that it has all streams with
// three replicas that are up to date, and syncs what it writes; and, if the fleet
// speaks TLS, that no connection is without it.
func (f *fleet) replicated(when string) {
	f.t.Helper()
	for _, n := range f.engine {
		var why error
		eventually(f.t, n.name()+" has three replicas of everything "+when, time.Minute, func() bool { why = n.replicas(); return why == nil }, func() string { return why.Error() })
		eventually(f.t, n.name()+" is as it was configured "+when, 10*time.Second, func() bool { why = n.careful(f.authority != nil); return why == nil }, func() string { return why.Error() })
	}
}

// replicas says what a server lacks of the streams.
func (n *nats) replicas() error {
	var answer struct {
		Accounts []struct {
			Streams []struct {
				Name   string
				Config struct {
					Replicas int `json:"num_replicas"`
					Storage  string
				}
				Cluster struct {
					Leader   string
					Replicas []struct {
						Current, Offline bool
						Name             string
					}
				}
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := n.ask("jsz?"+url.Values{"accounts": {"1"}, "streams": {"1"}, "config": {"1"}, "limit": {"100"}}.Encode(), &answer); err != nil {
		return err
	}
	var found []string
	for _, a := range answer.Accounts {
		for _, s := range a.Streams {
			found = append(found, s.Name)
			if s.Config.Replicas != replicas || s.Cluster.Leader == "" || len(s.Cluster.Replicas) != replicas-1 {
				return fmt.Errorf("%s: %+v", s.Name, s)
			}
			if s.Cluster.Leader != n.name() {
				continue // only the leader knows how far the others are
			}
			for _, r := range s.Cluster.Replicas {
				if r.Offline || !r.Current {
					return fmt.Errorf("%s: the replica on %s is behind", s.Name, r.Name)
				}
			}
		}
	}
	want := kept()
	slices.Sort(want)
	slices.Sort(found)
	if !slices.Equal(want, found) {
		return fmt.Errorf("the streams are %v, not %v", found, want)
	}
	return nil
}

// careful says what a server does not do that its configuration asks for.
func (n *nats) careful(secure bool) error {
	var of struct {
		JetStream struct {
			Config struct {
				SyncAlways bool `json:"sync_always"`
			}
		}
		TLS     bool `json:"tls_required"`
		Verify  bool `json:"tls_verify"`
		Cluster struct {
			TLS    bool `json:"tls_required"`
			Verify bool `json:"tls_verify"`
		}
	}
	if err := n.ask("varz", &of); err != nil {
		return err
	}
	if !of.JetStream.Config.SyncAlways || of.TLS != secure || of.Verify != secure || of.Cluster.TLS != secure || of.Cluster.Verify != secure {
		return fmt.Errorf("it says %+v", of)
	}
	if !secure {
		return nil
	}
	var conns struct {
		Connections []struct {
			Name string
			TLS  string `json:"tls_version"`
		}
	}
	if err := n.ask("connz", &conns); err != nil {
		return err
	}
	for _, c := range conns.Connections {
		if c.TLS != "1.3" {
			return fmt.Errorf("%s speaks %q", c.Name, c.TLS)
		}
	}
	return nil
}

// forget takes the secret of the cluster out of a configuration.
func (n *nats) forget() {
	text, err := os.ReadFile(n.conf)
	must(n.t, err)
	said := regexp.MustCompile(`(?s)  authorization \{\n    user: "servers".*?\n  \}\n`).ReplaceAllString(string(text), "")
	said = regexp.MustCompile(`servers:[0-9a-f]+@`).ReplaceAllString(said, "")
	if strings.Contains(said, "password") || said == string(text) {
		n.t.Fatalf("the secret is not where this test looks for it:\n%s", text)
	}
	must(n.t, os.WriteFile(n.conf, []byte(said), 0o600))
}
