//go:build linux && (amd64 || arm64)

package proc

import (
	"os"
	"strconv"
	"strings"
)

// Outlived reports whether processes of the command still run although its program has
// ended. It may be called beside all other methods.
func (p *Process) Outlived() bool {
	p.holding.RLock()
	defer p.holding.RUnlock()
	return p.ended.Load() && !p.released.Load() && p.leftovers()
}

// Names returns the names of the processes of the command, as the kernel has them: at
// most 15 bytes each, which the programs may have chosen. It may be called beside all
// other methods.
func (p *Process) Names() (names []string) {
	pids, done := p.reached()
	defer done()
	for _, pid := range pids {
		name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
		if err == nil && running(pid) {
			names = append(names, strings.TrimSuffix(string(name), "\n"))
		}
	}
	return names
}
