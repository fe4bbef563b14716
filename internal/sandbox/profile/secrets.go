package profile

// Secrets returns the canonical paths that Resolve hides under every profile
// but Open.
func Secrets(m Machine) []string {
	r := newResolver(Workspace, m)
	r.findHomes()
	r.hide()
	list := make([]string, 0, len(r.Hidden))
	for _, h := range r.Hidden {
		list = append(list, h.Path)
	}
	return list
}
