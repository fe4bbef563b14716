package clients

import (
	"slices"
	"strings"
)

// Client is a program that agents run in: a row of the table.
type Client struct {
	Name  string // as people write it: claude-code
	Title string // as its maker writes it: Claude Code
	// Restart says what a person has to do before the client takes a change.
	Restart string
	// NoHTTP says why an entry for a server over HTTP cannot be written; "": it
	// can.
	NoHTTP string

	user     places   // the user's file on each system; the first that exists counts
	project  []string // a project's files, relative to it; the first that exists counts
	marks    places   // paths whose existence says that the client is there; empty: the directories of user
	programs []string // names by which it is started from a shell
	format   format
	entry    dialect
	vendor   vendor
	denial   denial // how its own shell is taken away; zero: no vendor's page says that surely
	noShell  bool   // it has no shell of its own
	// ask and remove are the client's own command lines that say whether the entry is
	// there, and that take it out of the user's file; "": there are none.
	ask, remove string
}

// places are templates of paths by system. any counts where a system has none of
// its own.
type places struct{ linux, darwin, windows, any []string }

func (p places) on(goos string) []string {
	switch {
	case goos == "darwin" && p.darwin != nil:
		return p.darwin
	case goos == "windows" && p.windows != nil:
		return p.windows
	case goos != "darwin" && goos != "windows" && p.linux != nil:
		return p.linux
	}
	return p.any
}

// All returns the clients of the table, sorted by name.
func All() []Client { return slices.Clone(table) }

// everyFile are the clients with each of the files in which tipstaff writes for them.
func everyFile() (list []Client) {
	for _, c := range table {
		list = append(list, AllOf(c)...)
	}
	return list
}

// AllOf returns a client with each of the files in which tipstaff writes for it: that of
// its servers, that of its hooks and that in which its own shell is denied.
func AllOf(c Client) []Client {
	list := []Client{c}
	for _, find := range []func(string) (Client, bool){FindHook, FindShell} {
		if other, ok := find(c.Name); ok {
			list = append(list, other)
		}
	}
	return list
}

// HasShell reports whether a client runs lines in a shell of its own.
func (c Client) HasShell() bool { return !c.noShell }

// Names returns the names of all clients.
func Names() []string {
	names := make([]string, len(table))
	for i, c := range table {
		names[i] = c.Name
	}
	return names
}

// Find returns the client of a name. Letter case does not count, and neither
// does an underscore or a blank for a dash.
func Find(name string) (Client, bool) {
	name = strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
	for _, c := range table {
		if c.Name == name {
			return c, true
		}
	}
	return Client{}, false
}

// Scope says whose file is changed.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // the user's own, for all projects
	Project Scope = "project" // the project's, which others may get with it
)
