package policy

// PrivateDir is a [Directory] that a caller's own commands have made in their
// temporary directory, which only they see. Outside of their sandbox its path leads
// nowhere or to something else, so it is in no root.
type PrivateDir interface {
	Directory
	Private() bool
}

// isPrivate reports whether a directory is a [PrivateDir] one.
func isPrivate(d Directory) bool {
	p, is := d.(PrivateDir)
	return is && p.Private()
}

// WithDirectory returns a world in which the path of d leads to d. The decision
// closes d. Nothing else differs from w.
func WithDirectory(w World, d Directory) World { return worldWithDirectory{w, d} }

type worldWithDirectory struct {
	World
	dir Directory
}

// Directory opens a directory.
func (h worldWithDirectory) Directory(path string) (Directory, error) {
	if path == h.dir.Path() {
		return h.dir, nil
	}
	return h.World.Directory(path)
}

// Canonical resolves a path as the world does, if it can.
func (h worldWithDirectory) Canonical(path string, dir Directory) (string, error) {
	if r, can := h.World.(Resolver); can {
		return r.Canonical(path, dir)
	}
	return "", ErrNotFound
}

// Writable asks the world.
func (h worldWithDirectory) Writable(path string, dir Directory) bool {
	if p, knows := h.World.(WriteChecker); knows {
		return p.Writable(path, dir)
	}
	return true
}
