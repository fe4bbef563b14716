package protected

// MayReread reports whether files that have changed may be read again. It returns
// false if a command may have made the change, and logs that once for each
// change. For a file that the Registry does not know, only its present state is
// checked.
func (k *Registry) MayReread(paths ...string) bool {
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
		all = k.mayReread(f, w) && all
	}
	return all
}

// mayReread checks one file. Both the path as it is now and the path as it was before
// must be out of commands' reach, because the change may have been made through
// the former one.
func (k *Registry) mayReread(f *trackedFile, w Confinement) bool {
	now := stampOf(f.Path)
	if !w.None && f.refused != nil && now.exists && now.same(*f.refused) {
		return false
	}
	next := resolve(f.Path)
	if why := k.whyNot(f, next, w); why != "" {
		if known := now.same(f.accepted) || f.refused != nil && now.same(*f.refused); !known {
			k.log.Warn("this file has changed, and the change is not taken up: a command may have made it; look at the file first",
				"file", f.Path, "setting", f.Setting, "why", why, "to_take_it_up", k.again)
			f.refused = &now
		}
		return false
	}
	f.resolution, f.accepted, f.refused = next, now, nil
	f.hold(next)
	return true
}

func (k *Registry) whyNot(f *trackedFile, next resolution, w Confinement) string {
	if w.None {
		return ""
	}
	r := k.reach(w)
	if why := f.risk(r); why != "" || next.missing() {
		return why
	}
	return r.risk(next)
}
