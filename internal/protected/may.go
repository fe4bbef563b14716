package protected

// May reports whether files that have changed may be read again. It returns
// false if a command may have made the change, and logs that once for each
// change. For a file that the Keeper does not know, only its present state is
// checked.
func (k *Keeper) May(paths ...string) bool {
	if k == nil {
		return true
	}
	k.mu.Lock()
	confinement := k.confinement
	k.mu.Unlock()
	var w Confinement
	if confinement != nil {
		w = confinement()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	all := true
	for _, path := range paths {
		f := k.find(path)
		if f == nil {
			f = k.add(File{Path: path, Kind: Steering, Why: "tipstaff reads it"})
		}
		all = k.may(f, w) && all
	}
	return all
}

// may checks one file. Both the path as it is now and the path as it was before
// must be out of commands' reach, because the change may have been made through
// the former one.
func (k *Keeper) may(f *kept, w Confinement) bool {
	now := stampOf(f.Path)
	if !w.None && f.refused != nil && now.there && now.same(*f.refused) {
		return false
	}
	next := wayOf(f.Path)
	if why := k.whyNot(f, next, w); why != "" {
		if known := now.same(f.settled) || f.refused != nil && now.same(*f.refused); !known {
			k.log.Warn("this file has changed, and the change is not taken up: a command may have made it; look at the file first",
				"file", f.Path, "setting", f.Setting, "why", why, "to_take_it_up", k.again)
			f.refused = &now
		}
		return false
	}
	f.way, f.settled, f.refused = next, now, nil
	f.hold(next)
	return true
}

func (k *Keeper) whyNot(f *kept, next way, w Confinement) string {
	if w.None {
		return ""
	}
	r := k.reach(w)
	if why := f.risk(r); why != "" || next.missing() {
		return why
	}
	return r.risk(next)
}
