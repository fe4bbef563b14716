package policy

import (
	"net/url"
	"strings"

	"tipstaff/internal/paths"
)

// variableJudge judges the variables of one caller.
type variableJudge struct {
	by      Admission
	rules   *variableRules
	tables  *variableTables
	lookups int // paths that were looked up in the world
}

func newVariableJudge(by Admission) *variableJudge {
	return &variableJudge{by: by, rules: environmentRules(), tables: environmentTables()}
}

// slashes says how evil/lib and evil.so are read.
type slashes int

const (
	slashIsPath slashes = iota // as paths in the working directory
	slashIsText                // as names, such as feature/login
)

// separators end a word of a value that could be a path: those of lists,
// quotes, brackets and operators. Colons, = and @ are handled separately,
// because they are parts of URLs.
const separators = " \t\r\n,;|&()[]{}<>'\"!"

// faultOfPaths returns why a value may not be passed on because of the paths in
// it; "" if none leads to where commands may write.
func (j *variableJudge) faultOfPaths(value string, how slashes) string {
	if isPEM(value) {
		return ""
	}
	for word := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(separators, r) }) {
		if j.leadsAstray(word, how) {
			return faultWritable
		}
	}
	return ""
}

const faultWritable = "its value names a path that commands may write, and programs may load code from there"

// isPEM reports whether a value is a certificate, whose base64 contains
// slashes.
func isPEM(value string) bool { return strings.HasPrefix(value, "-----BEGIN ") }

// leadsAstray reports whether a word of a value leads to where commands may
// write.
func (j *variableJudge) leadsAstray(word string, how slashes) bool {
	if i := strings.Index(word, "://"); i > 0 {
		at := i
		for at > 0 && isSchemeByte(word[at-1]) {
			at--
		}
		return j.anyPiece(word[:at], how) || j.urlLeadsAstray(strings.ToLower(word[at:i]), word[i+len("://"):])
	}
	lower := strings.ToLower(word)
	if i := strings.Index(lower, "file:"); i >= 0 {
		return j.fileURL(word[i+len("file:"):])
	}
	for _, code := range []string{"data:", "javascript:", "module:"} {
		if strings.HasPrefix(lower, code) {
			return true
		}
	}
	return j.anyPiece(word, how)
}

// anyPiece checks each item of a list, and both sides of = and @.
func (j *variableJudge) anyPiece(word string, how slashes) bool {
	for piece := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(":=@", r) }) {
		if j.pieceLeadsAstray(piece, how) {
			return true
		}
	}
	return false
}

// pieceLeadsAstray reports whether one piece of a value names something that a
// command may write. A relative path counts as such, because the command's
// directory is in the workspace; a date, a ratio or a network with a slash is
// no path.
func (j *variableJudge) pieceLeadsAstray(piece string, how slashes) bool {
	slash := strings.IndexByte(piece, '/')
	switch {
	case piece[0] == '/' || piece[0] == '~':
		return j.writable(piece)
	case piece == "." || piece == ".." || strings.HasPrefix(piece, "./") || climbs(piece):
		return true
	case piece[0] == '$':
		return false // only some other program would expand it
	case slash < 0:
		return how == slashIsPath && isCodeFile(piece)
	case piece[0] == '-' && slash == 2: // -I/usr/include
		return j.writable(piece[slash:])
	case piece[0] == '-':
		return true
	case strings.Trim(piece, "0123456789./*-") == "":
		return false // a date, a ratio, a network
	}
	return how == slashIsPath
}

// isCodeFile reports whether a word is the name of a file that programs load,
// which is then one of the working directory.
func isCodeFile(word string) bool {
	i := strings.LastIndexByte(word, '.')
	if i < 0 {
		return false
	}
	switch strings.ToLower(word[i+1:]) {
	case "so", "dll", "dylib", "jar", "wasm", "node", "js", "mjs", "cjs", "py", "pyc", "rb", "lua", "php", "gradle", "kts", "targets", "props", "vim", "el", "cmake", "mk":
		return true
	}
	return false
}

// climbs reports whether a relative path leads out of its directory.
func climbs(path string) bool {
	return strings.HasPrefix(path, "../") || strings.Contains(path, "/../") || strings.HasSuffix(path, "/..")
}

// addresses are the schemes of URLs that name a host and no file.
var addresses = map[string]bool{
	"http": true, "https": true, "ws": true, "wss": true, "ftp": true, "ftps": true, "sftp": true, "ssh": true, "git": true, "git+https": true, "git+ssh": true,
	"tcp": true, "tls": true, "udp": true, "grpc": true, "grpcs": true, "ldap": true, "ldaps": true, "smtp": true, "smtps": true, "imap": true, "imaps": true,
	"redis": true, "rediss": true, "postgres": true, "postgresql": true, "mysql": true, "mariadb": true, "mongodb": true, "mongodb+srv": true, "mssql": true,
	"sqlserver": true, "amqp": true, "amqps": true, "kafka": true, "nats": true, "mqtt": true, "mqtts": true, "memcached": true, "clickhouse": true,
	"otlp": true, "s3": true, "gs": true, "android": true, "chrome-extension": true, "oci": true, "docker": true, "socks5": true, "socks5h": true,
}

// urlLeadsAstray judges a URL. A URL that names a host is passed on, unless a
// part after a separator in it leads to a writable place: it may be the first
// item of a list.
func (j *variableJudge) urlLeadsAstray(scheme, rest string) bool {
	if scheme == "file" || strings.HasSuffix(scheme, "+file") {
		return j.fileURL("//" + rest)
	}
	if !addresses[scheme] || rest == "" || rest[0] == '/' {
		return true
	}
	for piece := range strings.FieldsFuncSeq(rest, func(r rune) bool { return strings.ContainsRune(":=@", r) }) {
		if (piece[0] == '/' || piece[0] == '~') && j.writable(piece) {
			return true
		}
	}
	return false
}

// fileURL judges the text after "file:".
func (j *variableJudge) fileURL(rest string) bool {
	rest, authority := strings.CutPrefix(rest, "//")
	if authority {
		if i := strings.IndexByte(rest, '/'); i > 0 {
			rest = rest[i:]
		}
	}
	rest, _, _ = strings.Cut(rest, "!") // jar:file:/x.jar!/inside
	path, err := url.PathUnescape(rest)
	return err != nil || path == "" || path[0] != '/' || j.writable(path)
}

// writable reports whether commands may write at an absolute path, or at one
// that begins with ~. A path by which each program finds something else, such
// as /proc/self, counts as writable.
func (j *variableJudge) writable(path string) bool {
	switch path {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/stdout", "/dev/stderr":
		return false
	}
	if paths.Within(strings.TrimRight(path, "/"), "/proc", "/dev") {
		return true
	}
	if j.lookups++; j.lookups > maxPathsAsked {
		return true
	}
	checker, ok := j.by.World.(WriteChecker)
	return !ok || checker.Writable(path, j.by.Dir) || j.inRoots(path)
}

// maxPathsAsked bounds how many paths in a caller's variables are looked up.
const maxPathsAsked = 256

// inRoots reports whether a path leads into the roots of the policy file.
func (j *variableJudge) inRoots(path string) bool {
	if len(j.by.Roots) == 0 || path[0] != '/' {
		return false
	}
	r, ok := j.by.World.(Resolver)
	if !ok {
		return true
	}
	real, err := r.Canonical(path, j.by.Dir)
	return err != nil || paths.Within(real, j.by.Roots...) || paths.Within(path, j.by.Roots...)
}

func isSchemeByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'
}
