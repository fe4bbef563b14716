//go:build linux

package bash

import (
	"errors"
	"slices"
	"strings"
)

// makeLocal makes a name a variable of the function at hand.
func (s *Shell) makeLocal(name string) {
	at := s.vars
	for at.brief && at.outer != nil {
		if v, ok := at.names[name]; ok { // A=1 f: f's own A begins with it
			defer func() { _ = v }()
		}
		at = at.outer
	}
	if v, ok := at.names[name]; ok && v.local {
		return
	}
	n := variable{local: true}
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

func (d *declaring) function(name string) {
	s := d.s
	f := s.functions[name]
	switch {
	case f == nil:
		d.status = 1
	case d.command == "export" || strings.Contains(d.on, "x"):
		d.status = s.unsupported(d.command, "-f", "A program cannot be given functions.")
	case d.command == "readonly" || strings.Contains(d.on, "r"):
		d.status = s.unsupported(d.command, "-f", "")
	case d.funcs == 'F':
		d.status = max(d.status, s.wrote(name+"\n"))
	default:
		d.status = max(d.status, s.wrote(f.print()))
	}
}

// show is declare -p name.
func (d *declaring) show(name string) {
	v := d.s.vars.holder(name).names[name]
	if !v.declared() && !v.fixed {
		d.s.errorf("%s: %s: not found", d.command, name)
		d.status = 1
		return
	}
	d.status = max(d.status, d.s.wrote(v.declaration(name)+"\n"))
}

// declaration is a variable as declare -p writes it.
func (v *variable) declaration(name string) string {
	flags := ""
	for _, f := range []struct {
		on     bool
		letter string
	}{{v.list != nil, "a"}, {v.table != nil, "A"}, {v.integer, "i"}, {v.lower, "l"}, {v.refers, "n"}, {v.fixed, "r"}, {v.upper, "u"}, {v.exports, "x"}} {
		if f.on {
			flags += f.letter
		}
	}
	if flags == "" {
		flags = "-"
	}
	text := "declare -" + flags + " " + name
	switch {
	case v.list != nil:
		var items []string
		for i, k := range v.list.keys {
			items = append(items, "["+itoa(int64(k))+"]="+doubleQuoted(v.list.values[i]))
		}
		return text + "=(" + strings.Join(items, " ") + ")"
	case v.table != nil:
		text += "=("
		for _, k := range v.table.keys() {
			text += "[" + keyQuoted(k) + "]=" + doubleQuoted(v.table.values[k]) + " "
		}
		return text + ")"
	case v.set:
		return text + "=" + doubleQuoted(v.text)
	}
	return text
}

func keyQuoted(key string) string {
	if key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:%+,=") != "" {
		return doubleQuoted(key)
	}
	return key
}

// list is export, readonly or declare without names.
func (d *declaring) list() {
	s := d.s
	if d.funcs == 'F' {
		var names []string
		for n := range s.functions {
			names = append(names, "declare -f "+n+"\n")
		}
		slices.Sort(names)
		d.status = s.wrote(strings.Join(names, ""))
		return
	}
	if d.funcs != 0 || d.status != 0 {
		return
	}
	if d.command != "export" && d.command != "readonly" && d.on == "" && !d.shows || d.command == "local" {
		d.status = s.unsupported(d.command, "a list of all variables", "declare -p NAME shows one.")
		return
	}
	var lines []string
	s.vars.each(func(name string, v *variable) {
		want := d.shows && d.on == "" || strings.Contains(d.on, "x") && v.exports || strings.Contains(d.on, "r") && v.fixed ||
			strings.Contains(d.on, "a") && v.list != nil || strings.Contains(d.on, "A") && v.table != nil || strings.Contains(d.on, "i") && v.integer
		if d.command == "export" {
			want = v.exports
		} else if d.command == "readonly" {
			want = v.fixed
		}
		if want {
			lines = append(lines, v.declaration(name)+"\n")
		}
	})
	slices.Sort(lines)
	d.status = s.wrote(strings.Join(lines, ""))
}

// unset takes variables and functions away.
func unset(s *Shell, a []string) int {
	vars, funcs, status := true, true, 0
	args := a[1:]
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-v":
			funcs = false
		case "-f":
			vars = false
		case "-n", "--":
		default:
			return s.usage("unset", "%s: invalid option", args[0])
		}
		args = args[1:]
	}
	for _, name := range args {
		if base, index, element := strings.Cut(name, "["); element && vars {
			if err := s.unsetElement(base, strings.TrimSuffix(index, "]")); err != nil {
				s.errorf("unset: %v", err)
				status = 1
			}
			continue
		}
		v := s.vars.holder(name).names[name]
		switch {
		case vars && (v.declared() || v.fixed):
			if err := s.unset(name); err != nil {
				s.errorf("unset: %v", err)
				status = 1
			}
		case funcs:
			delete(s.functions, name)
		case vars && !validName(name):
			s.errorf("unset: `%s': not a valid identifier", name)
			status = 1
		}
	}
	return status
}

func (s *Shell) unsetElement(name, index string) error {
	v := s.lookup(name)
	if !v.declared() {
		return nil
	}
	if index == "@" || index == "*" {
		if v.table == nil || index == "@" {
			return s.unset(name)
		}
	}
	return s.change(name, func(v *variable) error {
		switch {
		case v.table != nil:
			v.table = v.table.own()
			v.table.remove(unquoted(index))
			return nil
		case v.list == nil:
			return &failure{text: name + ": not an array variable"}
		}
		n, err := s.arithmeticText(index)
		if err != nil {
			return err
		}
		if n < 0 {
			if n += int64(v.list.end()); n < 0 {
				return &failure{text: "[" + index + "]: bad array subscript"}
			}
		}
		v.list = v.list.own()
		v.list.remove(int(n))
		return nil
	})
}

// unquoted removes the quotes of an index that a word brought.
func unquoted(t string) string {
	if len(t) > 1 && (t[0] == '"' || t[0] == '\'') && t[len(t)-1] == t[0] {
		return t[1 : len(t)-1]
	}
	return t
}
