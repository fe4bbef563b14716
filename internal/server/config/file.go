package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// DefaultFile says that a configuration file was found in a default place and
// not named by a setting.
const DefaultFile = "default"

// fileName is the configuration file below a directory of configurations.
const fileName = "tipstaff/tipstaff.yaml"

// systemDir holds the configurations of the whole machine.
const systemDir = "/etc"

// configFile finds the configuration file and the setting that named it; ""
// means that there is none. A file that was named is returned even if it is
// missing, so that its reader reports that. The defaults are in the user's and
// the machine's directories, never in a workspace.
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

// defaultFiles returns the paths where a configuration file is looked for when
// no setting names one.
func (r *reader) defaultFiles(home string) []string {
	var paths []string
	if dir := r.vars["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		paths = append(paths, filepath.Join(dir, fileName))
	} else if filepath.IsAbs(home) {
		paths = append(paths, filepath.Join(home, ".config", fileName))
	}
	return append(paths, filepath.Join(systemDir, fileName))
}

// exists reports whether path exists or may exist: when that cannot be found
// out, the path is used, and opening it gives the error.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
