//go:build linux && (amd64 || arm64)

package proc

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Load returns what the processes of the command use; the zero Load if it has ended. It
// costs some microseconds for each process. Where commands are known by their tag, a
// process that is younger than a second may be left out. It may be called beside all
// other methods.
func (p *Process) Load() (Load, error) {
	var sum Load
	for _, pid := range p.counted() {
		if one, ok := loadOf(pid); ok {
			sum = sum.Plus(one)
		}
	}
	return sum, nil
}

// counted lists the processes of the command. It holds the instance no longer than it
// must, so the list may name a process that has just ended, or for a moment another one
// with its id.
func (p *Process) counted() []int {
	p.holding.RLock()
	if p.released.Load() {
		p.holding.RUnlock()
		return nil
	}
	i, over := p.instance, p.ended.Load()
	t, zygote, engine := i.tag, i.zygote.pid, i.in.engine
	var pids []int
	grouped := i.cgroup != nil
	if grouped {
		pids = i.cgroup.members()
	}
	p.holding.RUnlock()
	if !grouped {
		pids = slices.DeleteFunc(engine.census.of(t), func(pid int) bool { return tagOf(pid) != t })
	}
	pids = without(pids, zygote)
	if !over && !slices.Contains(pids, p.pid) {
		pids = append(pids, p.pid)
	}
	return pids
}

// census knows which processes have a tag. All commands that are looked at within a
// second share one walk through /proc. The zero census is ready to use.
type census struct {
	mu    sync.Mutex
	taken time.Time
	pids  map[descendantTag][]int
}

const censusLasts = time.Second

// of returns the processes with a tag, in a list of the caller's own.
func (c *census) of(m descendantTag) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); c.pids == nil || now.Sub(c.taken) >= censusLasts {
		c.pids = map[descendantTag][]int{}
		for _, pid := range processes() {
			if t := tagOf(pid); t != 0 {
				c.pids[t] = append(c.pids[t], pid)
			}
		}
		c.taken = now
	}
	return slices.Clone(c.pids[m])
}

// loadOf reads what one process uses: proc_pid_stat(5).
func loadOf(pid int) (l Load, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return l, false
	}
	// The fields behind the name, by their numbers in the manual less three.
	const state, utime, stime, cutime, cstime, rss = 0, 11, 12, 13, 14, 21
	f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(f) <= rss || string(f[state]) == "Z" || string(f[state]) == "X" {
		return l, false
	}
	ticks := int64(0)
	for _, i := range [...]int{utime, stime, cutime, cstime} {
		n, _ := strconv.ParseInt(string(f[i]), 10, 64)
		ticks += n
	}
	pages, _ := strconv.ParseInt(string(f[rss]), 10, 64)
	return Load{Processes: 1, CPU: time.Duration(ticks) * (time.Second / ticksPerSecond), Resident: pages * int64(os.Getpagesize())}, true
}

// ticksPerSecond is USER_HZ, which is 100 on all processors that this package supports.
const ticksPerSecond = 100
