package gitpush

import (
	"strings"
)

// mayTag marks a tag that only a forced push changes.
const mayTag = "?tag/"

// source is what kind of a thing is pushed.
type source int

const (
	branchSource source = iota // a branch, or a commit that no ref names
	tagSource
	removal
	unknownSource
)

// specs reads the refspecs of the command line: set_refspecs of builtin/push.c.
func (r *reader) specs(list []string) {
	for i := 0; i < len(list); i++ {
		spec := list[i]
		switch {
		case spec == "tag" && i+1 < len(list):
			i++
			spec = tags + list[i]
			if r.options.remove {
				spec = ":" + spec
			}
			r.refspec(spec)
		case r.options.remove && !strings.Contains(spec, ":"):
			r.refspec(":" + spec)
		case strings.Contains(spec, ":"), strings.HasPrefix(spec, "+"), strings.HasPrefix(spec, "^"), strings.Contains(spec, "*"):
			r.refspec(spec)
		default:
			r.mapped(spec)
		}
	}
}

// refspec reads one refspec: parse_refspec of refspec.c.
func (r *reader) refspec(spec string) {
	spec, force := strings.CutPrefix(spec, "+")
	if !force && strings.HasPrefix(spec, "^") {
		return // it takes refs away
	}
	at := strings.LastIndexByte(spec, ':')
	if spec == ":" {
		r.push.Implied = true
		r.add(Update{To: []string{anyBranch}, Force: force})
		return
	}
	if at < 0 {
		if strings.Contains(spec, "*") {
			r.add(pattern(spec, force))
			return
		}
		r.source(spec, force)
		return
	}
	from, to := spec[:at], spec[at+1:]
	var u Update
	switch {
	case to == "":
		r.unclear = true // git refuses it
		return
	case strings.Contains(to, "*"):
		u = pattern(to, force)
	case from == "":
		u = r.to(to, removal)
		u.Delete = true
	default:
		u = r.to(to, r.kind(from))
	}
	u.Force = u.Force || force
	r.push.Implied = r.push.Implied || !strings.HasPrefix(to, "refs/")
	r.add(u)
}

// pattern is the update of a refspec with a *, of which git compares names in
// full.
func pattern(to string, force bool) Update {
	if !strings.HasPrefix(to, "refs/") || strings.Count(to, "*") > 1 {
		return everything
	}
	return Update{To: []string{to}, Force: force}
}

// to completes the name of a destination: match_explicit of remote.c. Without a
// ref of that name in the other repository, it is a branch or a tag as its
// source is.
func (r *reader) to(name string, from source) Update {
	switch {
	case strings.Contains(name, "..") || strings.Contains(name, "//") || strings.ContainsAny(name, " ~^?[\\"):
		r.unclear = true // git refuses it
		return everything
	case strings.HasPrefix(name, "refs/"):
		return Update{To: []string{name}}
	case name == "HEAD" || name == "":
		return everything
	}
	u := Update{To: []string{branches + name}, MayBe: []string{"refs/" + name, "refs/remotes/" + name, "refs/remotes/" + name + "/HEAD"}}
	switch from {
	case branchSource:
		u.MayBe = append(u.MayBe, mayTag+name)
	case removal:
		u.MayBe = append(u.MayBe, tags+name)
	default:
		u.To = append(u.To, tags+name)
	}
	if inNamespace(name) {
		u.To = append(u.To, "refs/"+name)
	}
	return u
}
