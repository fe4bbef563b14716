package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// DefaultFile says of a configuration file that nobody has named it: it was
// found where such files are.
const DefaultFile = "default"

// fileName is the configuration file below a directory of configurations.
const fileName = "tipstaff/tipstaff.yaml"

// systemDir holds the configurations of the whole machine.
const systemDir = "/etc"

// configFile finds the configuration file, and who has named it; "" is none.
// One that is named may be missing only for whoever reads it to say so. The
// defaults are the user's own and the machine's, never a workspace.
func (r *reader) configFile(home string) (path, from string) {
	const name = "TIPSTAFF_CONFIG"
	if path, set := r.absolute(name); set {
		return path, name
	}
	for _, path := range r.defaultFiles(home) {
		if exists(path) {
			return path, DefaultFile
		}
	}
	return "", ""
}

// defaultFiles are the places where a file is looked for that nobody has named.
func (r *reader) defaultFiles(home string) []string {
	var paths []string
	if dir := r.vars["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		paths = append(paths, filepath.Join(dir, fileName))
	} else if filepath.IsAbs(home) {
		paths = append(paths, filepath.Join(home, ".config", fileName))
	}
	return append(paths, filepath.Join(systemDir, fileName))
}

// exists reports whether something stands at path, or may: what cannot be told
// is left to whoever opens it, and is no reason to do without.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
