package gitpush

import (
	"strings"
)

// refsNamed are the refs of the repository that a name may mean:
// count_refspec_match of remote.c.
func (r *reader) refsNamed(name string) (refs []string, known bool) {
	follow := func(ref string) bool {
		to, ok := r.follow(ref)
		known = known && ok
		return to != ""
	}
	known = true
	if strings.HasPrefix(name, "refs/") && follow(name) {
		refs = append(refs, name)
	}
	for _, rule := range []string{"refs/", tags, branches} {
		if follow(rule + name) {
			refs = append(refs, rule+name)
		}
	}
	if len(refs) > 0 {
		return refs, known
	}
	for _, ref := range []string{"refs/remotes/" + name, "refs/remotes/" + name + "/HEAD"} {
		if follow(ref) {
			refs = append(refs, ref)
		}
	}
	return refs, known
}

func (r *reader) follow(ref string) (string, bool) {
	if r.repo.Follow == nil {
		return "", false
	}
	return r.repo.Follow(ref)
}

// kind says what the source of a refspec is.
func (r *reader) kind(name string) source {
	if name == "HEAD" || name == "@" {
		name = "HEAD"
	}
	refs, known := r.refsNamed(name)
	switch {
	case !known:
		return unknownSource
	case len(refs) == 0:
		if to, known := r.follow(name); !known || strings.HasPrefix(to, tags) {
			return unknownSource
		}
	}
	for _, ref := range refs {
		if to, known := r.follow(ref); !known || !strings.HasPrefix(to, branches) {
			return tagSource
		}
	}
	return branchSource
}

// mapped reads a refspec of the command line without a destination: settings may
// give it one (refspec_append_mapped of builtin/push.c).
func (r *reader) mapped(name string) {
	r.push.Implied = true
	refs, known := r.refsNamed(name)
	if !known {
		r.unclear = true
		return
	}
	if len(refs) != 1 {
		r.source(name, false)
		return
	}
	for _, spec := range r.settings.all("remote", r.push.Remote, "push") {
		if to, force, ok := mapping(spec, refs[0]); ok {
			u := r.to(to, r.kind(refs[0]))
			u.Force = u.Force || force
			r.add(u)
			return
		}
	}
	branch, isBranch := strings.CutPrefix(refs[0], branches)
	if mode := r.settings.text("push", "", "default"); isBranch && (mode == "upstream" || mode == "tracking") {
		if merge := r.settings.all("branch", branch, "merge"); len(merge) == 1 && merge[0] != "" {
			r.add(r.to(merge[0], branchSource))
			return
		}
	}
	r.source(name, false)
}

// mapping returns where a refspec of the settings sends a ref.
func mapping(spec, ref string) (to string, force, ok bool) {
	spec, force = strings.CutPrefix(spec, "+")
	from, to, has := cutLast(spec, ':')
	switch before, after, star := strings.Cut(from, "*"); {
	case !has || to == "":
		return "", false, false
	case !star:
		return to, force, from == ref
	default:
		rest, ok := strings.CutPrefix(ref, before)
		if !ok || !strings.HasSuffix(rest, after) {
			return "", false, false
		}
		return strings.Replace(to, "*", strings.TrimSuffix(rest, after), 1), force, true
	}
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	at := strings.LastIndexByte(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+1:], true
}

// source reads a refspec without a destination: the ref is pushed to one of the
// same name, symbolic refs followed.
func (r *reader) source(name string, force bool) {
	r.push.Implied = true
	if name == "@" {
		name = "HEAD"
	}
	refs, known := r.refsNamed(name)
	u := Update{Force: force}
	for _, ref := range refs {
		to, ok := r.follow(ref)
		known = known && ok
		u.To = append(u.To, to)
	}
	switch {
	case !known:
		r.unclear = true
		return
	case len(refs) > 0:
	case name == "HEAD":
		if r.repo.Head == "" {
			return // git refuses it
		}
		u.To = []string{r.repo.Head}
	default:
		to, known := r.follow(name) // a ref outside of refs/
		switch {
		case !known:
			r.unclear = true
			return
		case to != "" && to != name:
			u = r.to(to, unknownSource)
		case strings.HasPrefix(name, "refs/"):
			u.To = []string{name} // it may come to be
		default:
			u = r.to(name, unknownSource)
		}
		u.Force = force
	}
	r.add(u)
}
