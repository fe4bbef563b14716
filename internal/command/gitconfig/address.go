package gitconfig

import (
	"strings"
)

// native reports whether git handles a scheme itself or by ssh. For any other
// scheme it runs git-remote-SCHEME.
func native(scheme string) bool {
	switch scheme {
	case "http", "https", "ftp", "ftps", "git", "ssh", "git+ssh", "ssh+git", "file":
		return true
	}
	return false
}

// addressFault returns why an address of a repository could make git run a
// program, or "" if it could not. Names of remotes are checked as well, because
// git uses a name as the address if no such remote has one. The function
// follows transport_get of git's transport.c and is stricter.
func addressFault(address string) string {
	if strings.HasPrefix(address, "-") {
		return `it begins with "-", so that git or ssh could take it for an option`
	}
	if !isLine(address) || strings.ContainsRune(address, '\t') || hasEscapedControl(address) {
		return "it holds a control character"
	}
	scheme := address[:schemeLength(address)]
	rest := address[len(scheme):]
	if strings.HasPrefix(rest, "::") {
		return "it makes git run the program git-remote-" + shown(scheme)
	}
	rest, ok := strings.CutPrefix(rest, "://")
	host := strings.TrimPrefix(rest, "[")
	switch {
	case !ok:
		return ""
	case !native(scheme):
		return "it makes git run the program git-remote-" + shown(scheme)
	case strings.HasPrefix(host, "-"), strings.HasPrefix(strings.ToLower(host), "%2d"):
		return `its host begins with "-", so that ssh could take it for an option`
	}
	return ""
}

// schemeLength counts the characters that can be a scheme or the name of a
// helper: is_urlschemechar of git's url.c, except that the first one may be any
// of them.
func schemeLength(s string) int {
	n := 0
	for n < len(s) && (keyChar(s[n]) || s[n] == '+' || s[n] == '.') {
		n++
	}
	return n
}

// hasEscapedControl reports a percent-encoded control character: %0a in a host
// could end a line of what git sends to a credential helper.
func hasEscapedControl(s string) bool {
	for i := 0; i+2 < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		switch high, low := s[i+1], s[i+2]; {
		case (high == '0' || high == '1') && strings.IndexByte("0123456789abcdefABCDEF", low) >= 0:
			return true
		case high == '7' && (low == 'f' || low == 'F'):
			return true
		}
	}
	return false
}
