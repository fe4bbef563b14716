package gitpush

import (
	"slices"
	"strings"
)

// addresses are where a push to a remote goes, in the order of git: remote_get and
// alias_all_urls of its remote.c. known is false where a condition decides about one, or
// an empty value, which takes away those before it since git 2.46.
func (s settings) addresses(remote string) (list []string, known bool) {
	known = true
	for _, e := range s {
		address := e.Section == "remote" && e.Sub == remote && (e.Name == "url" || e.Name == "pushurl")
		rewrites := e.Section == "url" && (e.Name == "insteadof" || e.Name == "pushinsteadof")
		if e.Perhaps && (address || rewrites) || address && e.Value == "" {
			known = false
		}
	}
	urls := s.all("remote", remote, "url")
	pushes := s.all("remote", remote, "pushurl")
	if len(urls) == 0 && len(pushes) == 0 {
		urls = []string{remote} // an address, or a directory
	}
	for _, url := range pushes {
		to, _ := s.rewritten(url, "insteadof")
		list = append(list, to)
	}
	if len(pushes) > 0 {
		return list, known
	}
	for _, url := range urls {
		if to, is := s.rewritten(url, "pushinsteadof"); is {
			list = append(list, to)
		}
	}
	if len(list) > 0 {
		return list, known
	}
	for _, url := range urls {
		to, _ := s.rewritten(url, "insteadof")
		list = append(list, to)
	}
	return list, known
}

// Remotes returns the addresses of all remotes, as far as they are known.
func (r *Repository) Remotes() (list []string) {
	s := settings(r.Settings)
	for _, name := range s.remotes() {
		for _, e := range s {
			if e.Section == "remote" && e.Sub == name && e.Name == "url" && e.Value != "" {
				to, _ := s.rewritten(e.Value, "insteadof")
				list = append(list, to)
			}
		}
		to, _ := s.addresses(name)
		list = append(list, to...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// rewritten is an address after url.BASE.insteadOf, if there is one for it: the longest
// match counts.
func (s settings) rewritten(url, name string) (to string, is bool) {
	longest, base := "", ""
	for _, e := range s {
		if e.Section == "url" && e.Name == name && len(e.Value) > len(longest) && strings.HasPrefix(url, e.Value) {
			longest, base = e.Value, e.Sub
		}
	}
	if longest == "" {
		return url, false
	}
	return base + strings.TrimPrefix(url, longest), true
}
