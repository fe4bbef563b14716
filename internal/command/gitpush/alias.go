package gitpush

import "strings"

// Subcommand returns the subcommand of a command line of git, its index in the
// arguments, and which repository it is about.
func Subcommand(args []string) (at Location, sub string, index int) {
	c := readCommand(args)
	return c.location, c.sub, len(args) - len(c.rest) - 1
}

// Alias returns what a name stands for by the settings.
func (r *Repository) Alias(name string) (value string, ok bool) {
	e, ok := r.alias(name)
	return e.Value, ok
}

func (r *Repository) alias(name string) (Setting, bool) {
	e, ok := settings(r.Settings).last("alias", "", strings.ToLower(name))
	if !ok {
		e, ok = settings(r.Settings).last("alias", name, "command")
	}
	return e, ok
}
