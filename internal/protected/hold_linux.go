package protected

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hold opens a file so that it can be found wherever it is moved (O_PATH of
// open(2)). That needs no permission on the file, and while the file is open,
// its inode number is not reused.
func hold(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// currentPath returns the present path of a held file; "" if it was removed.
func currentPath(f *os.File) string {
	info, err := f.Stat()
	if err != nil || links(info) == 0 {
		return ""
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasSuffix(path, " (deleted)") && !isAt(path, info) {
		return ""
	}
	return path
}

func isAt(path string, info os.FileInfo) bool {
	present, err := os.Lstat(path)
	return err == nil && os.SameFile(present, info)
}

// number reads a kernel setting; -1 if it does not exist.
func number(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return -1
	}
	return n
}

// readOnly reports whether the file system at path is mounted read-only.
func readOnly(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}
