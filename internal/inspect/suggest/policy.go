package suggest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Project is what was found in a directory.
type Project struct {
	Marks  []string // the files that said something, in order
	kits   []kit
	top    fs.FS
	remote []string
}

// Look looks at the top of a project.
func Look(top fs.FS) Project {
	p := Project{top: top}
	for _, k := range kits {
		found := slices.DeleteFunc(slices.Clone(k.marks), func(m string) bool { return !p.has(m) })
		if len(found) == 0 && len(k.marks) > 0 {
			continue
		}
		p.Marks = append(p.Marks, found...)
		p.kits = append(p.kits, k)
	}
	for _, r := range remarks {
		if p.has(r.mark) {
			p.Marks = append(p.Marks, r.mark)
		}
	}
	p.remote = remotes(top)
	return p
}

// has reports whether a file is at the top. A link to somewhere counts, too.
func (p Project) has(name string) bool {
	_, err := fs.Stat(p.top, name)
	return err == nil
}

// Known reports whether anything but the tools of every project was found.
func (p Project) Known() bool { return len(p.Marks) > 0 }

// Options say what of the machine and of a person's wishes counts.
type Options struct {
	Root string // the project's absolute path
	// Installed reports whether a program is there.
	Installed func(name string) bool
	// Network says that the machine can hold commands to a list of hosts.
	Network bool
	// Shell says that the policy has the key shell, and that a person wants
	// scripts.
	Shell bool
}

// Proposal is a policy for a project.
type Proposal struct {
	Text     string
	Programs []string // that it names
}

// Propose writes the policy.
func (p Project) Propose(o Options) Proposal {
	var out Proposal
	var rows, tests strings.Builder
	var presets, hosts []string
	for _, k := range p.kits {
		written := false
		for _, l := range k.lines {
			l, ok := p.fitting(l, o)
			if !ok {
				continue
			}
			if !written {
				fmt.Fprintf(&rows, "\n  # For %s%s.\n", k.name, because(k, p))
				written = true
			}
			rows.WriteString(l.row())
			for _, t := range l.tests {
				fmt.Fprintf(&tests, "  - {run: %s, expect: %s}\n", quote(t.run), t.expect)
			}
			out.Programs = append(out.Programs, l.programs...)
		}
		if written {
			presets = union(presets, k.presets)
			hosts = union(hosts, k.hosts)
		}
	}
	hosts = union(hosts, p.remote)
	out.Text = p.head(o, presets) + p.network(o, hosts) + "\ncommands:" + rows.String() + "\n# What has to come of these, checked at every start.\ntests:\n" + tests.String()
	return out
}

// fitting is a line as it fits this project, and whether it does.
func (p Project) fitting(l line, o Options) (line, bool) {
	if len(l.needs) > 0 && !slices.ContainsFunc(l.needs, p.has) {
		return l, false
	}
	if l.optional {
		l.programs = slices.DeleteFunc(slices.Clone(l.programs), func(name string) bool { return !o.Installed(name) })
	}
	return l, len(l.programs) > 0
}

// because names the files by which a kit was chosen.
func because(k kit, p Project) string {
	var found []string
	for _, m := range k.marks {
		if p.has(m) {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return ", because of " + strings.Join(found, " and ")
}

func (p Project) head(o Options, presets []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# What an agent may run in this project, as "tipstaff init" has proposed it. It is yours
# to change: "tipstaff policy check" looks it over, "tipstaff policy explain -- COMMAND"
# says what would become of a command. docs/policy.md says what everything means.
version: 1
`)
	named := make([]string, len(presets))
	for i, name := range presets {
		named[i] = "preset:" + name
	}
	fmt.Fprintf(&b, "# What is known of programs that start others, write or connect; it only narrows.\nextends: [%s]\n", strings.Join(named, ", "))
	b.WriteString("# What no line allows is refused.\ndefault: deny\n")
	fmt.Fprintf(&b, "# Commands run in here, and change nothing elsewhere.\nroots: [%s]\n", quote(o.Root))
	b.WriteString("# Tests take longer than the usual 30 seconds.\nlimits: {timeout: 2m, max_timeout: 30m}\n")
	if o.Shell {
		b.WriteString("# Scripts may run; each command in one is judged by itself.\nshell: write\n")
	}
	for i, r := range remarks {
		if p.has(r.mark) && !slices.ContainsFunc(remarks[:i], func(other struct{ mark, text string }) bool { return other.text == r.text && p.has(other.mark) }) {
			fmt.Fprintf(&b, "# %s: %s\n", r.mark, r.text)
		}
	}
	return b.String()
}

func (p Project) network(o Options, hosts []string) string {
	switch {
	case !o.Network:
		return "# This machine cannot hold commands to a list of hosts (tipstaff doctor says why), so\n# the network is as TIPSTAFF_NETWORK says.\n"
	case len(hosts) == 0:
		return "# Nothing found here needs the network.\nsandbox: {network: off}\n"
	}
	return "# The network: where the package managers of this project fetch from, and its remotes.\nsandbox: {network: [" + strings.Join(hosts, ", ") + "]}\n"
}

// row writes a line.
func (l line) row() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  # %s\n", l.why)
	parts := []string{`allow: ["*"]`}
	for _, list := range []struct {
		key   string
		rules []string
		why   string
	}{{"deny", l.deny, l.denyWhy}, {"ask", l.ask, ""}} {
		if len(list.rules) > 0 {
			quoted := make([]string, len(list.rules))
			for i, r := range list.rules {
				if quoted[i] = quote(r); list.why != "" {
					quoted[i] = "{rule: " + quoted[i] + ", why: " + quote(list.why) + "}"
				}
			}
			parts = append(parts, list.key+": ["+strings.Join(quoted, ", ")+"]")
		}
	}
	if l.inside {
		parts = append(parts, "paths: inside-roots")
	}
	if l.askWhy != "" {
		parts = append(parts, "why: "+quote(l.askWhy))
	}
	fmt.Fprintf(&b, "  %s: {%s}\n", strings.Join(l.programs, "|"), strings.Join(parts, ", "))
	return b.String()
}

// quote writes a text in quotes as JSON, which YAML takes as well.
func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// union appends what is not in the list yet.
func union(list, more []string) []string {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}
