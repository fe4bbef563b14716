//go:build linux && (amd64 || arm64)

package proc

// Rest ends all but keep of the instances that wait for a command, to free their
// memory. The next commands make new ones. Commands may run or start meanwhile.
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
