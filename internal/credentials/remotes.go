package credentials

import (
	"context"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// hosts are for whom passwords may be asked, as "https://git.example.org" or
// "https://git.example.org:8443".
type hosts map[string]bool

func (h hosts) String() string {
	var list []string
	for host := range h {
		list = append(list, host)
	}
	slices.Sort(list)
	if len(list) == 0 {
		return "no host (the repository has no remote over HTTPS)"
	}
	return strings.Join(list, ", ")
}

// has reports whether a password for host may be asked. It is a host and nothing
// else: what a URL could have around it would be read differently by others.
func (h hosts) has(protocol, host string) bool {
	if strings.ContainsAny(host, "/@?#\\%; \t") {
		return false
	}
	origin, ok := originOf(protocol + "://" + host)
	return ok && h[origin]
}

// add takes the host of a URL up, if only are none or have it.
func (h hosts) add(raw string, only []string) {
	origin, ok := originOf(raw)
	if !ok {
		return
	}
	_, host, _ := strings.Cut(origin, "://")
	if len(only) == 0 || slices.ContainsFunc(only, func(o string) bool { return strings.TrimSuffix(o, ":443") == host }) {
		h[origin] = true
	}
}

// originOf gives protocol and host of a URL over HTTPS, or over HTTP to this machine
// itself. The default port is left out.
func originOf(raw string) (string, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return "", false
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	standard := map[string]string{"https": "443", "http": "80"}[u.Scheme]
	if standard == "" || host == "" || u.Scheme == "http" && !loopback(host) {
		return "", false
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port != "" && port != standard {
		host += ":" + port
	}
	return u.Scheme + "://" + host, true
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// remoteKeys are the settings of git that name remotes, and how it rewrites them.
const remoteKeys = `^(remote\..*\.(url|pushurl)|submodule\..*\.url|branch\..*\.(remote|pushremote)|url\..*\.(insteadof|pushinsteadof))$`

// maxConfig bounds what is read of a repository's settings.
const maxConfig = 1 << 20

// Asker runs a program as the command would be run, in its directory and confined
// like it, and gives what it prints, at most so many bytes.
type Asker func(ctx context.Context, argv []string, bytes int) ([]byte, error)

// remotes finds out for which hosts a command may need passwords: those of the
// remotes of the repository that it works in, and of URLs among the arguments of a
// git that clones, fetches or pushes. git itself tells of the remotes, in the
// command's own sandbox, so that nothing of the repository is read outside.
func remotes(ctx context.Context, argv, only []string, ask Asker) hosts {
	found := hosts{}
	place, urls := gitArguments(argv)
	text, err := ask(ctx, slices.Concat([]string{"git"}, place, []string{"config", "-z", "--get-regexp", remoteKeys}), maxConfig)
	var c config
	if err == nil {
		c = parseConfig(string(text))
	}
	for _, raw := range slices.Concat(c.urls, urls) {
		for _, r := range c.rewritten(raw) {
			found.add(r, only)
		}
	}
	return found
}

// withURLs are the subcommands of git that take the URL of a repository.
var withURLs = []string{"clone", "fetch", "pull", "push", "ls-remote", "submodule", "remote"}

// gitArguments gives the options by which a git of the command line chooses its
// repository, and the arguments of it that could be URLs.
func gitArguments(argv []string) (place, urls []string) {
	at := slices.IndexFunc(argv, func(word string) bool { return path.Base(word) == "git" })
	if at < 0 {
		return nil, nil
	}
	rest := argv[at+1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		switch word := rest[0]; {
		case (word == "-C" || word == "--git-dir" || word == "--work-tree") && len(rest) > 1:
			place = append(place, word, rest[1])
			rest = rest[2:]
		case (word == "-c" || word == "--namespace" || word == "--exec-path" || word == "--super-prefix" || word == "--config-env") && len(rest) > 1:
			rest = rest[2:]
		case strings.HasPrefix(word, "--git-dir=") || strings.HasPrefix(word, "--work-tree="):
			place = append(place, word)
			fallthrough
		default:
			rest = rest[1:]
		}
	}
	if len(rest) == 0 || !slices.Contains(withURLs, rest[0]) {
		return place, nil
	}
	for _, word := range rest[1:] {
		if !strings.HasPrefix(word, "-") && strings.Contains(word, ":") {
			urls = append(urls, word)
		}
	}
	return place, urls
}

// config is what matters of the settings of git.
type config struct {
	urls    []string
	instead map[string]string // prefix → what stands for it
	pushing map[string]string // the same for pushes
}

// parseConfig reads what git config -z prints: a key, a line's end, a value, NUL.
func parseConfig(text string) config {
	c := config{instead: map[string]string{}, pushing: map[string]string{}}
	for entry := range strings.SplitSeq(text, "\x00") {
		key, value, found := strings.Cut(entry, "\n")
		if !found {
			continue
		}
		section, _, _ := strings.Cut(key, ".")
		name := key[strings.LastIndexByte(key, '.')+1:]
		base := strings.TrimSuffix(strings.TrimPrefix(key, "url."), "."+name)
		switch {
		case section == "url" && name == "insteadof":
			c.instead[value] = base
		case section == "url" && name == "pushinsteadof":
			c.pushing[value] = base
		default:
			c.urls = append(c.urls, value)
		}
	}
	return c
}

// rewritten gives what git makes of a URL when it fetches and when it pushes.
func (c *config) rewritten(raw string) []string {
	return []string{longest(c.instead, raw), longest(c.pushing, raw)}
}

// longest replaces the longest of the prefixes that fits.
func longest(table map[string]string, raw string) string {
	best := ""
	for prefix := range table {
		if len(prefix) > len(best) && strings.HasPrefix(raw, prefix) {
			best = prefix
		}
	}
	if best == "" {
		return raw
	}
	return table[best] + raw[len(best):]
}
