package trails

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"tipstaff/internal/audit"
)

// ArchiveFlag says where archives are that were moved.
type ArchiveFlag struct{ dirs []string }

// Add declares the flag.
func (a *ArchiveFlag) Add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&a.dirs, "archive", nil, "a `directory` to which an archive was moved; may be repeated")
	_ = cmd.MarkFlagDirname("archive")
}

// Files is where the trails of this machine are.
func (a *ArchiveFlag) Files() (f audit.Files) {
	for _, dir := range a.dirs {
		if whole, err := filepath.Abs(dir); err == nil {
			dir = whole
		}
		f.Archives = append(f.Archives, dir)
	}
	return f
}
