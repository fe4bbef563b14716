package profile

import (
	"path/filepath"
	"slices"

	"tipstaff/internal/paths"
)

// Paths is what a profile comes to on this machine, for these workspaces, now.
// Every path is canonical and exists, but for those of Missing; lists are
// sorted, parents first, and no path of Workspace, Caches and Git lies below
// another of the three unless it is a workspace in a cache.
type Paths struct {
	Profile Profile `json:"profile"`
	// Workspace is what commands work on: writable under Workspace.
	Workspace []string `json:"workspace,omitempty"`
	// Caches are writable directories and files of tools.
	Caches []string `json:"caches,omitempty"`
	// Git is writable too: repositories outside of the workspace to which work
	// trees in it belong, and which name those work trees themselves.
	Git []string `json:"git,omitempty"`
	// Devices may be read, written and controlled.
	Devices []string `json:"devices,omitempty"`
	// Runtime is what stays readable of /run.
	Runtime []string `json:"runtime,omitempty"`
	// Hidden must be neither read nor written, nor anything below.
	Hidden []Place `json:"hidden,omitempty"`
	// Shown are files in hidden directories that stay readable all the same.
	Shown []string `json:"shown,omitempty"`
	// Pinned lies below something writable and stays as it is. In the order of
	// the list each can be mounted on itself.
	Pinned []Pin `json:"pinned,omitempty"`
	// Missing is to be made before commands run, with Make, and Resolve to be
	// called again: caches of tools that are found, and what git would
	// otherwise let a command make (hooks, configuration).
	Missing []Place `json:"missing,omitempty"`
	// Repositories are those of git in the workspace, each as the path by which
	// git finds it: a .git, or the directory of a bare one.
	Repositories []string `json:"repositories,omitempty"`
	// GitDirs are the directories in which those, their submodules and the
	// repositories of their work trees keep what is git's.
	GitDirs []string `json:"-"`
	// Planted are files by which a repository would take hooks and settings
	// from elsewhere, and that no repository of this kind has. Nobody should
	// run git there before they are gone.
	Planted []Place `json:"planted,omitempty"`
	// Watched is not pinned: what is made or changed there is put back and reported.
	// It need not exist.
	Watched []Place `json:"watched,omitempty"`
	// Notes are for the operator: what was left out, and why.
	Notes []string `json:"notes,omitempty"`

	root    string
	watched *watch
	partial bool // the search for repositories has not seen all
	// exhausted: it has met a bound.
	exhausted bool
	kept      []string // pinned, and for Landlock as well
	// closed are directories of the user's that it could not look into.
	closed []string
}

// Place is a file or directory, with a reason.
type Place struct {
	Path string `json:"path"`
	Dir  bool   `json:"dir,omitempty"`
	Why  string `json:"why"`
}

// Pin is a place that a command must not change. The zero InPlace is the
// stricter one.
type Pin struct {
	Place
	// InPlace: it must not be moved or removed, because something hidden or
	// pinned lies in it; what is in it is as writable as it would be.
	InPlace bool `json:"in_place,omitempty"`
	// GitDir is the directory of the repository of which it is a configuration; "":
	// it is none.
	GitDir string `json:"-"`
	// Programs: it is a directory in which programs are found. Tools of the workspace
	// (npm, venv) write there, so nothing but a mount keeps them from it.
	Programs bool `json:"-"`
	// Own: it is a file of tipstaff's own, which is read again only when no command can
	// have written it.
	Own bool `json:"-"`
	// Link: it is a symbolic link, which is pinned itself.
	Link bool `json:"link,omitempty"`
	// Copy: it is a directory that git tracks. Commands have a copy of their own in
	// its place, so that a checkout succeeds and a person's hooks stay.
	Copy bool `json:"copy,omitempty"`

	of string // the repository or GitDir that it belongs to; "": none, or several
}

// Writable gives all that is writable besides devices, parents first.
func (p Paths) Writable() []string {
	if p.Profile != Workspace {
		return nil
	}
	return sorted(slices.Concat(p.Workspace, p.Caches, p.Git))
}

// Complete reports whether the workspaces were looked through to the end for
// repositories.
func (p Paths) Complete() bool { return !p.partial }

// Exhausted reports whether the search for repositories has met a bound: there may be
// some that are not protected.
func (p Paths) Exhausted() bool { return p.exhausted }

// ClosedOff gives directories of the user's that could not be looked into, and that
// commands could open. They are pinned; where there are no pins, nothing keeps
// commands from what is in them.
func (p Paths) ClosedOff() []string { return p.closed }

// Without gives the same Paths for somebody who is to remove these repositories
// (of Repositories or GitDirs): what is pinned for them alone is not.
func (p Paths) Without(repositories []string) Paths {
	var kept []Pin
	needed := func(dir string) bool {
		return slices.ContainsFunc(kept, func(k Pin) bool { return below(k.Path, dir) }) ||
			slices.ContainsFunc(p.Hidden, func(h Place) bool { return below(h.Path, dir) })
	}
	for _, pin := range slices.Backward(p.Pinned) { // what lies in a directory comes first
		if pin.InPlace && needed(pin.Path) || !pin.InPlace && (pin.of == "" || !slices.Contains(repositories, pin.of)) {
			kept = append(kept, pin)
		}
	}
	slices.Reverse(kept)
	p.Pinned = kept
	return p
}

// Stage gives the pinned directory beside a pinned configuration of git in which a new
// version of it can be made ready; "" if there is none.
func (p Paths) Stage(config Pin) string {
	if config.GitDir == "" || filepath.Dir(config.Path) != config.GitDir {
		return ""
	}
	hooks := filepath.Join(config.GitDir, "hooks")
	if slices.ContainsFunc(p.Pinned, func(pin Pin) bool { return pin.Path == hooks && pin.Dir && !pin.InPlace }) {
		return hooks
	}
	return ""
}

// Stages gives the stages of all pinned configurations.
func (p Paths) Stages() (list []string) {
	for _, pin := range p.Pinned {
		if stage := p.Stage(pin); stage != "" {
			list = append(list, stage)
		}
	}
	return sorted(list)
}

// MissingBeside gives what is missing that does not lie in one of these directories.
func (p Paths) MissingBeside(dirs []string) []Place {
	return slices.DeleteFunc(slices.Clone(p.Missing), func(m Place) bool {
		_, in := around(m.Path, dirs)
		return in
	})
}

// OwnersIn gives the repositories (of Repositories or GitDirs) for which something
// is pinned at path or below it.
func (p Paths) OwnersIn(path string) []string {
	var owners []string
	for _, pin := range p.Pinned {
		if !pin.InPlace && paths.Within(pin.Path, path) {
			owners = append(owners, pin.of)
		}
	}
	return sorted(owners)
}

// Equal reports whether two results mean the same to a command. Notes and
// reasons do not count.
func (p Paths) Equal(q Paths) bool {
	return p.Profile == q.Profile &&
		slices.Equal(p.Workspace, q.Workspace) &&
		slices.Equal(p.Caches, q.Caches) &&
		slices.Equal(p.Git, q.Git) &&
		slices.Equal(p.Devices, q.Devices) &&
		slices.Equal(p.Runtime, q.Runtime) &&
		slices.EqualFunc(p.Hidden, q.Hidden, Place.same) &&
		slices.Equal(p.Shown, q.Shown) &&
		slices.EqualFunc(p.Pinned, q.Pinned, func(a, b Pin) bool { return a.InPlace == b.InPlace && a.same(b.Place) }) &&
		slices.EqualFunc(p.Missing, q.Missing, Place.same) &&
		slices.EqualFunc(p.Planted, q.Planted, Place.same) &&
		slices.Equal(p.Repositories, q.Repositories)
}

func (p Place) same(q Place) bool { return p.Path == q.Path && p.Dir == q.Dir }

// Fresh reports whether every hidden and pinned path is still the file that it
// was, and no secret has come where there was none: mounts that were made by
// these Paths still stand. It costs one look at each directory in which such
// paths are, not a look through the workspace; new repositories are found only
// by Resolve. It may be called from many goroutines at once.
func (p Paths) Fresh() bool { return p.watched == nil || p.watched.fresh() }
