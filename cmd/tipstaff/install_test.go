package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestOnlyAYesIsAYes: all else changes nothing.
func TestOnlyAYesIsAYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, " y \n": true, "y": true, "n\n": false, "\n": false, "": false, "yeah\n": false, "yes please\n": false} {
		cmd := &cobra.Command{}
		var out strings.Builder
		cmd.SetIn(strings.NewReader(answer))
		cmd.SetOut(&out)
		got, err := askPerson(cmd, "Change it?")
		if err != nil || got != want || !strings.HasPrefix(out.String(), "Change it? [y/N] ") {
			t.Errorf("%q: %v, %v, %q", answer, got, err, out.String())
		}
	}
}

func TestAnAddressBehindHTTPIsNoClient(t *testing.T) {
	o := entryFlags{http: httpDefault}
	if names := o.takeAddress([]string{"cursor", "127.0.0.1:9000", "zed"}); strings.Join(names, ",") != "cursor,zed" || o.http != "127.0.0.1:9000" {
		t.Errorf("%q, %q", names, o.http)
	}
}
