package policy

// View is the machine's files as the commands of one session see them: where session
// sandboxes have directories of their own, a path leads to another file than outside.
type View interface {
	// Follow resolves the links of an absolute path as the kernel does it for such a
	// command. path is the result, and file where the server finds the same file. A
	// part at the end that does not exist yet is kept as written, except "..".
	Follow(name string) (path, file string, err error)
}

// Viewer is a [World] that can answer by a view. The program that is judged is then
// the one that runs.
type Viewer interface {
	In(v View) World
}

// InView returns a world that answers by a view, if it can; nil is the server's own view.
func InView(w World, v View) World {
	if by, can := w.(Viewer); can && v != nil {
		return by.In(v)
	}
	return w
}
