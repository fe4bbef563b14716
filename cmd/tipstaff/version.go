package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// These are set by a release build (-ldflags "-X main.version=1.2.3"), which has
// commit and date also where the Go command does not see them: in a work tree of
// git, or in sources without git.
var (
	version = "dev"
	commit  string
	date    string // as 2006-01-02T15:04:05Z
)

// buildInfo is the description of a build.
type buildInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // the commit
	Date     string `json:"date,omitempty"`     // of the commit
	Modified bool   `json:"modified,omitempty"` // it was built from a work tree with changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	// Modules are the other modules that are built in, as path@version.
	Modules []string `json:"modules,omitempty"`
}

func thisBuild() buildInfo {
	b := buildInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.time":
				b.Date = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
		if commit != "" {
			b.Revision, b.Date, b.Modified = commit, date, false
		}
		for _, m := range info.Deps {
			b.Modules = append(b.Modules, m.Path+"@"+m.Version)
		}
	}
	return b
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which tipstaff this is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), b.line())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with commit, date and modules")
	return cmd
}

// line says on one line which build it is.
func (b buildInfo) line() string {
	line := "tipstaff " + b.Version
	if b.Revision != "" {
		line += " (" + b.Revision[:min(12, len(b.Revision))] + ")"
	}
	return fmt.Sprintf("%s, %s, %s", line, b.Go, b.Platform)
}
