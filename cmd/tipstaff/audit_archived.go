package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
)

// archiveFlag says where archives are that were moved.
type archiveFlag struct{ dirs []string }

func (a *archiveFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.dirs, "archive", nil, "a `directory` to which an archive was moved; may be repeated")
	_ = cmd.MarkFlagDirname("archive")
}

// files is where the trails of this machine are.
func (a *archiveFlag) files() (f audit.Files) {
	for _, dir := range a.dirs {
		if whole, err := filepath.Abs(dir); err == nil {
			dir = whole
		}
		f.Archives = append(f.Archives, dir)
	}
	return f
}
