//go:build linux && !(amd64 || arm64)

package proc

import (
	"bytes"
	"os"
	"strconv"
)

// groupRuns reports whether a process of the group still runs. Members that
// have ended stay in the group as zombies until their new parent reaps them,
// which not every init does; kill(2) does not tell zombies from running
// processes.
func groupRuns(group int) bool {
	dir, err := os.Open("/proc")
	if err != nil {
		return true
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	want := []byte(strconv.Itoa(group))
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		i := bytes.LastIndexByte(stat, ')') // the name may contain any character, also ')'
		if err != nil || i < 0 {
			continue
		}
		// state, parent, group: proc_pid_stat(5)
		f := bytes.Fields(stat[i+1:])
		if len(f) > 2 && bytes.Equal(f[2], want) && f[0][0] != 'Z' && f[0][0] != 'X' {
			return true
		}
	}
	return false
}
