package host

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"tipstaff"
	"tipstaff/internal/policy"
)

// Options say what of the machine the operator has opened.
type Options struct {
	// Path is the server's PATH; relative and world-writable entries are not used.
	Path string
	// AllowedCommands is the allowlist of the execute family (contract A6).
	AllowedCommands policy.Allowlist
	// AllowlistPath names the allowlist file of the terminal family (B9);
	// "" leaves that family with nothing allowed.
	AllowlistPath string
	// AllowlistOptional: nobody has named that file, so that it may be missing
	// where a policy file says what is allowed.
	AllowlistOptional bool
	// Gate says whether that file may be read again when it has changed; nil: it may.
	Gate Gate
	// Roots is the list of ALLOWED_CWD_ROOTS (A10).
	Roots Roots
	// Home is what ~ stands for; "": there is none.
	Home string
	// Places are absolute paths that commands may write besides workspaces: the
	// caches of tools, and directories for temporary files.
	Places []string
	// Unconfined: commands run without a sandbox, or with one that has no rules
	// for files; see [Host.AskUnconfined].
	Unconfined bool
	Log        *slog.Logger
}

// Host is the machine that the server runs on. Its methods may be called from
// many goroutines at once.
type Host struct {
	search  SearchPath
	execute policy.Allowlist
	file    *allowlistFile
	roots   Roots
	home    string
	written []string // Options.Places, also canonical

	unconfined atomic.Pointer[func() bool]

	mu    sync.Mutex
	found map[string]policy.Program // bare name → what it led to
}

// New looks at the PATH once; later changes of the variable or of the
// directories' modes do not count.
func New(o Options) *Host {
	h := &Host{
		search:  Trusted(o.Path),
		execute: o.AllowedCommands,
		file:    &allowlistFile{path: o.AllowlistPath, optional: o.AllowlistOptional, gate: o.Gate, log: o.Log},
		roots:   o.Roots,
		home:    o.Home,
		found:   map[string]policy.Program{},
	}
	h.written = canonicalPlaces(h, o.Places)
	if o.Unconfined {
		h.AskUnconfined(func() bool { return true })
	}
	return h
}

// SearchPath gives the trusted directories in which programs are found.
func (h *Host) SearchPath() SearchPath { return h.search }

// Allowlist gives what the family may run, as it stands now.
func (h *Host) Allowlist(f tipstaff.Family) policy.Allowlist {
	switch f {
	case tipstaff.Execute:
		list := h.execute
		list.Absent = !list.Any && len(list.Names) == 0 && list.Fault == ""
		return list
	case tipstaff.Terminal:
		return h.file.current()
	default:
		return policy.Allowlist{Source: "no family"}
	}
}

// Reload reads the allowlist file again because a person says so.
func (h *Host) Reload() policy.Allowlist { return h.file.reload() }

// Roots gives the canonical roots as they stand now.
func (h *Host) Roots() ([]string, error) { return h.roots.canonical() }

// Lookup finds a bare name. What it found is remembered with device and inode;
// a name that leads to another file now is found anew and marked as changed.
func (h *Host) Lookup(name string) (policy.Program, error) {
	h.mu.Lock()
	old, known := h.found[name]
	h.mu.Unlock()
	if known {
		if id, err := executable(old.Path); err == nil && id == old.File {
			return old, nil
		}
	}
	p, err := h.search.find(name)
	if err != nil {
		return policy.Program{}, err
	}
	h.mu.Lock()
	h.found[name] = p
	h.mu.Unlock()
	p.Changed = known && p.File != old.File
	return p, nil
}

// File looks at the file that path names, from dir when path is relative.
func (h *Host) File(path string, dir policy.Directory) (policy.Program, error) {
	path = absolute(path, dir)
	id, err := executable(path)
	if err != nil {
		return policy.Program{}, err
	}
	return policy.Program{Path: path, File: id}, nil
}
