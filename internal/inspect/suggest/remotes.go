package suggest

import (
	"io/fs"
	"net/url"
	"strings"
)

// remotes are the hosts of the project's remotes over HTTPS. Another protocol
// does not pass the list of hosts, and a work tree whose .git is a file has its
// remotes elsewhere.
func remotes(top fs.FS) (hosts []string) {
	text, err := fs.ReadFile(top, ".git/config")
	if err != nil {
		return nil
	}
	remote := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			remote = strings.HasPrefix(strings.ToLower(line), `[remote `)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !remote || !ok || !strings.EqualFold(strings.TrimSpace(key), "url") {
			continue
		}
		if u, err := url.Parse(strings.Trim(strings.TrimSpace(value), `"`)); err == nil && u.Scheme == "https" && plainHost(u.Hostname()) && u.Port() == "" {
			hosts = union(hosts, []string{strings.ToLower(u.Hostname())})
		}
	}
	return hosts
}

// plainHost reports whether a host can stand in the list as it is: a name with
// dots. What a repository says of itself is not trusted with more.
func plainHost(host string) bool {
	return strings.Contains(host, ".") && !strings.ContainsFunc(host, func(r rune) bool {
		return r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) && strings.ContainsFunc(host, func(r rune) bool { return r > '9' })
}
