package policy

// Private is a [Directory] that a caller's own commands have made in the temporary
// directory that only they see. Outside of their sandbox nothing lies at its path,
// or something else does, so no root holds it.
type Private interface {
	Directory
	Private() bool
}

// private reports whether a directory is a [Private] one.
func private(d Directory) bool {
	p, is := d.(Private)
	return is && p.Private()
}

// WithDirectory returns a world in which the path of d leads to d. The decision
// closes d. Nothing else differs from w.
func WithDirectory(w World, d Directory) World { return handed{w, d} }

type handed struct {
	World
	dir Directory
}

// Directory opens a directory.
func (h handed) Directory(path string) (Directory, error) {
	if path == h.dir.Path() {
		return h.dir, nil
	}
	return h.World.Directory(path)
}

// Canonical resolves a path as the world does, if it can.
func (h handed) Canonical(path string, dir Directory) (string, error) {
	if r, can := h.World.(Resolver); can {
		return r.Canonical(path, dir)
	}
	return "", ErrNotFound
}

// Writable says what the world says.
func (h handed) Writable(path string, dir Directory) bool {
	if p, knows := h.World.(Places); knows {
		return p.Writable(path, dir)
	}
	return true
}
