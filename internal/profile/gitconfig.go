package profile

import (
	"strings"
)

// gitConfig is what matters here of a configuration of git: the settings by
// which it leads to other files.
type gitConfig struct {
	includes  []string // of include and includeIf, whatever the condition
	hooksPath string
	workTree  string
	perTree   bool // config.worktree counts too
}

// parseGitConfig reads the syntax of git-config(1). What git would call an
// error is passed over: a file that git refuses leads nowhere.
func parseGitConfig(text string) gitConfig {
	var c gitConfig
	section := ""
	for text != "" {
		var line string
		line, text = gitLine(text)
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			header, rest, ok := strings.Cut(line[1:], "]")
			if quote := strings.IndexByte(line, '"'); quote >= 0 && quote < len(header) {
				if end := strings.LastIndex(line, `"]`); end > quote { // a ] may be quoted
					header, rest, ok = line[1:quote], line[end+2:], true
				}
			}
			if !ok {
				continue
			}
			section = strings.ToLower(strings.TrimSpace(header))
			line = strings.TrimSpace(rest)
		}
		key, value, _ := strings.Cut(line, "=")
		c.set(section, strings.ToLower(strings.TrimSpace(key)), value)
	}
	return c
}

func (c *gitConfig) set(section, key, raw string) {
	name, _, _ := strings.Cut(section, ".") // the old form [includeif.condition]
	switch name + "." + key {
	case "include.path", "includeif.path":
		c.includes = append(c.includes, gitValue(raw))
	case "core.hookspath":
		c.hooksPath = gitValue(raw)
	case "core.worktree":
		c.workTree = gitValue(raw)
	case "extensions.worktreeconfig":
		c.perTree = true
	}
}

// gitLine cuts the first line off, with those that a \ at its end joins to it.
func gitLine(text string) (line, rest string) {
	var b strings.Builder
	for {
		part, after, more := strings.Cut(text, "\n")
		part = strings.TrimSuffix(part, "\r")
		if !more || !strings.HasSuffix(part, `\`) || strings.HasSuffix(part, `\\`) {
			b.WriteString(part)
			return b.String(), after
		}
		b.WriteString(part[:len(part)-1])
		text = after
	}
}

// gitValue removes quotes, escapes and comments.
func gitValue(raw string) string {
	var b strings.Builder
	quoted := false
	raw = strings.TrimSpace(raw)
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(raw):
			i++
			b.WriteByte(raw[i])
		case !quoted && (c == '#' || c == ';'):
			return strings.TrimRight(b.String(), " \t")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
