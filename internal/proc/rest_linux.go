//go:build linux && (amd64 || arm64)

package proc

// Rest ends what is kept ready for commands to come, but for so many places. The next
// command makes what it needs. Commands may run, or begin, meanwhile.
func (n *Enclosure) Rest(keep int) {
	var rest []*place
	for len(n.ready) > keep {
		select {
		case p := <-n.ready:
			rest = append(rest, p)
		default:
		}
	}
	for _, p := range rest {
		p.end()
	}
}

// Rest is [Enclosure.Rest] for commands that are not confined.
func (e *Engine) Rest(keep int) {
	e.openMu.Lock()
	open := e.open
	e.openMu.Unlock()
	if open != nil {
		open.Rest(keep)
	}
}
