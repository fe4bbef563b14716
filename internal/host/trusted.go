package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxTrusted bounds a file of settings.
const maxTrusted = 1 << 20

// ReadTrusted reads a file that only the operator can have written. Everything
// on the way to it is judged as the kernel goes it, symbolic links and what they
// lead to alike: each has to belong to root or to the server's own user, and
// neither a directory nor the file may be writable by others.
//
// Two directories are good enough although others can write there. One with the
// sticky bit (/tmp): nobody can replace there what belongs to somebody else, and
// whose the next step is has been judged. And one on a file system that is
// mounted read-only: that is how a Kubernetes ConfigMap arrives, mode 0777.
func ReadTrusted(path string) ([]byte, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	canonical, judged, err := walk(full)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(canonical, os.O_RDONLY|openPlain, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case !os.SameFile(info, judged):
		return nil, errors.New("it was replaced while it was looked at")
	}
	if why := writable(info, canonical); why != "" {
		return nil, fmt.Errorf("it %s; chmod go-w %s", why, canonical)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxTrusted+1))
	if err == nil && len(data) > maxTrusted {
		err = fmt.Errorf("it is larger than %d bytes", maxTrusted)
	}
	return data, err
}

// maxLinks is how many symbolic links the kernel follows for one path.
const maxLinks = 40

// walk follows an absolute path step by step and judges each. It gives the path
// without links, and what stands there.
func walk(full string) (canonical string, found fs.FileInfo, err error) {
	at := filepath.VolumeName(full) + string(filepath.Separator)
	steps := split(full[len(filepath.VolumeName(full)):])
	if found, err = os.Lstat(at); err != nil {
		return "", nil, err
	}
	for links := 0; len(steps) > 0; {
		if !found.IsDir() {
			return "", nil, &fs.PathError{Op: "open", Path: at, Err: syscall.ENOTDIR}
		}
		if why := writable(found, at); why != "" {
			return "", nil, fmt.Errorf("the directory %s on its path %s: whoever can write there can replace the file; chmod go-w %s", at, why, at)
		}
		step := steps[0]
		steps = steps[1:]
		next := filepath.Join(at, step) // of .., too: nothing in at is a link
		if found, err = os.Lstat(next); err != nil {
			return "", nil, err
		}
		if found.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", nil, &fs.PathError{Op: "open", Path: full, Err: syscall.ELOOP}
		}
		if why := foreign(found); why != "" {
			return "", nil, fmt.Errorf("the symbolic link %s on its path %s, who can let it lead elsewhere", next, why)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", nil, err
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
		}
		if found, err = os.Lstat(at); err != nil {
			return "", nil, err
		}
		steps = append(split(target[len(filepath.VolumeName(target)):]), steps...)
	}
	return at, found, nil
}

// split gives the steps of a path.
func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
}

// foreign says whose a thing is if it is neither root's nor the server's.
func foreign(info fs.FileInfo) string {
	if owner, known := ownerOf(info); known && owner != 0 && owner != os.Geteuid() {
		return fmt.Sprintf("belongs to another user (%d)", owner)
	}
	return ""
}

// writable says why a file or directory is not the operator's alone, "" if it is.
func writable(info fs.FileInfo, path string) string {
	if why := foreign(info); why != "" {
		return why
	}
	if info.Mode().Perm()&0o022 == 0 || info.IsDir() && (info.Mode()&fs.ModeSticky != 0 || readOnly(path)) {
		return ""
	}
	return fmt.Sprintf("can be written by others (%04o)", info.Mode().Perm())
}
