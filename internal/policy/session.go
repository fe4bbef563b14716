package policy

import (
	"tipstaff"
	"tipstaff/internal/policy/language"
)

// AdmitSession judges the request for a terminal session (contract B1, B2, B11)
// and returns it with its canonical directory, the variables that its commands
// may get, and those that they will not get, with the reasons. A refusal is an
// *[tipstaff.Error]. Each command of the session is judged anew.
func (p *Policy) AdmitSession(s tipstaff.Session, w World) (tipstaff.Session, error) {
	req := tipstaff.Request{Family: tipstaff.Terminal, Dir: s.Dir, DirGiven: s.DirGiven}
	var d Draft
	if found := (directory{}).Judge(&req, w, &d); len(found) > 0 {
		return tipstaff.Session{}, found[0].refusal()
	}
	if found := (fileRoots{p.settings.File}).Judge(&req, w, &d); len(found) > 0 {
		_ = d.Dir.Close()
		return tipstaff.Session{}, found[0].refusal()
	}
	defer func() { _ = d.Dir.Close() }()
	accepted, dropped, err := p.settings.Environment.Admit(s.Env, p.passesSome)
	if err != nil {
		return tipstaff.Session{}, err
	}
	s.Dir, s.Env, s.Dropped = d.Dir.Path(), accepted, droppedNames(dropped)
	for _, one := range dropped {
		s.DroppedWhy = append(s.DroppedWhy, one.Why)
	}
	return s, nil
}

// passesSome reports whether the policy file passes a variable on to commands
// of any program. The session then keeps the variable for these; others do not
// get it.
func (p *Policy) passesSome(name string) bool {
	f := p.settings.File
	return f != nil && (f.PassesSome(name) || f.Inside() && language.PassFault(name) == "")
}
