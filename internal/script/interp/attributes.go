//go:build linux

package interp

import (
	"errors"
	"strings"
)

// makeLocal makes a name a variable of the function at hand. It is exported if the one
// that it hides is.
func (s *Shell) makeLocal(name string) {
	at := s.vars
	for at.brief && at.outer != nil {
		at = at.outer
	}
	if v, ok := at.names[name]; ok && v.local {
		return
	}
	n := variable{local: true, exports: s.vars.holder(name).names[name].exports}
	if at.outer != nil {
		if o := at.outer; o.brief {
			if v, ok := o.names[name]; ok { // inherited from the command's own variables
				n = v
				n.local = true
			}
		}
	}
	at.names[name] = n
}

// attributes applies those that hold before the value is assigned, or behind it.
func (d *declaring) attributes(name string, before bool) error {
	s := d.s
	name = s.resolve2(name, d.on+d.off)
	at := s.vars.holder(name)
	v := at.names[name]
	if before {
		if v.fixed && strings.ContainsAny(d.off+d.on, "iluaAn") {
			return &failure{text: name + ": readonly variable", code: 1}
		}
		v.integer = (v.integer || strings.Contains(d.on, "i")) && !strings.Contains(d.off, "i")
		v.upper = (v.upper || strings.Contains(d.on, "u")) && !strings.Contains(d.off, "u") && !strings.Contains(d.on, "l")
		v.lower = (v.lower || strings.Contains(d.on, "l")) && !strings.Contains(d.off, "l") && !strings.Contains(d.on, "u")
		v.refers = (v.refers || strings.Contains(d.on, "n")) && !strings.Contains(d.off, "n")
		switch {
		case strings.Contains(d.on, "A"):
			if v.list != nil {
				return &failure{text: name + ": cannot convert indexed to associative array", code: 1}
			}
			if v.table == nil {
				v.table = newTable()
				v.set, v.text = false, ""
			}
		case strings.Contains(d.on, "a"):
			if v.table != nil {
				return &failure{text: name + ": cannot convert associative to indexed array", code: 1}
			}
			v.makeList()
		}
	} else {
		v.exports = (v.exports || strings.Contains(d.on, "x") || d.command == "export") && !strings.Contains(d.off, "x")
		v.fixed = v.fixed || strings.Contains(d.on, "r") || d.command == "readonly"
		if !v.declared() && !v.fixed {
			return nil
		}
	}
	at.names[name] = v
	return nil
}

// resolve2 is resolve, but for -n, which is about the reference itself.
func (s *Shell) resolve2(name, attributes string) string {
	if strings.Contains(attributes, "n") {
		return name
	}
	return s.resolve(name)
}

// failBuiltin reports an error of an assignment in a builtin.
func (s *Shell) failBuiltin(err error) {
	if f, is := errors.AsType[*failure](err); is && f.kind != plain {
		s.fail(err)
		return
	}
	s.errorf("%v", err)
}
