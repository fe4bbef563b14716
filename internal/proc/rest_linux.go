//go:build linux && (amd64 || arm64)

package proc

// Rest ends what is kept ready for commands to come, but for so many instances. The next
// command makes what it needs. Commands may run, or begin, meanwhile.
func (n *Enclosure) Rest(keep int) {
	var rest []*instance
	for len(n.ready) > keep {
		select {
		case i := <-n.ready:
			rest = append(rest, i)
		default:
		}
	}
	for _, i := range rest {
		i.end()
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
