package config

import (
	"net/netip"
	"net/url"
	"strings"
)

// commands reads a list of programs. An item with blanks is a command line or a list
// without commas, and would allow nothing; only a path may have blanks, if it leads to
// a file.
func (r *reader) commands(name string) string {
	for _, item := range r.list(name) {
		first, _, blank := strings.Cut(strings.ReplaceAll(item, "\t", " "), " ")
		if blank && !(strings.Contains(item, "/") && exists(item)) {
			r.fault(name, "%q is no program: an item is the name or the path of one, without arguments, and a comma stands between two; write %s here, and say in a policy file which arguments it may have (docs/policy.md)", item, first)
		}
	}
	return r.vars[name]
}

// hosts reads names of this server as requests have them in their Host: a name or an
// address, with or without a port.
func (r *reader) hosts(name string) []string {
	all := r.list(name)
	for _, item := range all {
		if hostOf(item) {
			continue
		}
		if u, err := url.Parse(item); err == nil && hostOf(u.Host) {
			r.fault(name, "%q is no name of a server but an address of a page: write %s", item, u.Host)
			continue
		}
		r.fault(name, "%q is no name of a server: write names as tipstaff.example.com or tipstaff.example.com:8443, each in full, with commas between them", item)
	}
	return all
}

// origins reads origins of pages as browsers send them: a scheme and a host, with a
// port where it is not the usual one, and nothing behind.
func (r *reader) origins(name string) []string {
	all := r.list(name)
	for _, item := range all {
		u, err := url.Parse(item)
		if item == "*" {
			r.fault(name, "* would let every page of the web ask this server: write each origin, as https://app.example.com")
			continue
		}
		if err != nil || u.Scheme == "" || !hostOf(u.Host) {
			r.fault(name, "%q is no origin: write scheme and host of the page, as https://app.example.com", item)
			continue
		}
		if as := originOf(u); !strings.EqualFold(as, item) {
			r.fault(name, "%q is never what a browser sends: write %s", item, as)
		}
	}
	return all
}

// originOf returns the origin of a page as browsers write it (RFC 6454, section 6.1).
func originOf(u *url.URL) string {
	host := u.Host
	if u.Scheme == "https" && u.Port() == "443" || u.Scheme == "http" && u.Port() == "80" {
		host = strings.TrimSuffix(host, ":"+u.Port())
	}
	return u.Scheme + "://" + host
}

// hostOf reports whether text is a host, with or without a port.
func hostOf(text string) bool {
	if _, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return true
	}
	u, err := url.Parse("//" + text)
	if err != nil || u.Host != text || u.Hostname() == "" || strings.HasSuffix(text, ":") {
		return false
	}
	if _, err := netip.ParseAddr(u.Hostname()); err == nil {
		return true
	}
	return strings.Trim(strings.ToLower(u.Hostname()), "abcdefghijklmnopqrstuvwxyz0123456789-._") == ""
}
