package policy

import "tipstaff"

// AdmitSession judges what a terminal session asks for (contract B1, B2, B11)
// and returns it with its canonical directory, the variables that its commands
// will get, and the names of those that they will not. A refusal is an
// *[tipstaff.Error]. Each command of the session is judged anew.
func (p *Policy) AdmitSession(s tipstaff.Session, w World) (tipstaff.Session, error) {
	kept, dropped, err := p.settings.Environment.Admit(s.Env)
	if err != nil {
		return tipstaff.Session{}, err
	}
	req := tipstaff.Request{Family: tipstaff.Terminal, Dir: s.Dir, DirGiven: s.DirGiven}
	var d Draft
	if found := (directory{}).Judge(&req, w, &d); len(found) > 0 {
		return tipstaff.Session{}, found[0].refusal()
	}
	if found := (fileRoots{p.settings.File}).Judge(&req, w, &d); len(found) > 0 {
		_ = d.Dir.Close()
		return tipstaff.Session{}, found[0].refusal()
	}
	s.Dir, s.Env, s.Dropped = d.Dir.Path(), kept, dropped
	_ = d.Dir.Close()
	return s, nil
}

// Within reports whether a canonical path is one of the roots or lies below
// one, by path segment. Nothing is within no roots.
func Within(path string, roots []string) bool {
	return len(roots) > 0 && insideAny(roots, path)
}
