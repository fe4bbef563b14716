package main

import (
	"bytes"
	"io"
	"maps"
	"path/filepath"
	"strings"
)

// Node's names of systems and processors.
var nodeNames = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32", "amd64": "x64", "arm64": "arm64"}

// npmScope is where the packages that carry the binaries are.
const npmScope = "@tipstaff/"

func npmName(p platform) string { return nodeNames[p.OS] + "-" + nodeNames[p.Arch] }

// npmPackages writes a package with the binary for each platform, and one that
// depends on all of them as options: npm installs the one that fits. No script
// runs at an installation, and nothing is fetched at one.
func npmPackages(s *stage, out string) error {
	common := map[string]any{"version": s.Version, "description": summary, "license": license}
	optional := map[string]string{}
	for _, p := range s.Platforms {
		bin, err := entryOf("bin/"+program(p), s.binary(p), 0o755)
		if err != nil {
			return err
		}
		about := maps.Clone(common)
		about["name"], about["os"], about["cpu"] = npmScope+npmName(p), []string{nodeNames[p.OS]}, []string{nodeNames[p.Arch]}
		about["files"], about["preferUnplugged"] = []string{"bin"}, true
		optional[npmScope+npmName(p)] = s.Version
		if err := s.npm(out, "tipstaff-"+npmName(p), about, []entry{bin}); err != nil {
			return err
		}
	}
	launcher, err := entryOf("bin/tipstaff.js", s.own("npm/tipstaff.js"), 0o755)
	if err != nil {
		return err
	}
	readme, err := entryOf("README.md", s.own("npm/README.md"), 0o644)
	if err != nil {
		return err
	}
	about := maps.Clone(common)
	about["name"], about["mcpName"], about["bin"] = "tipstaff", serverName, map[string]string{"tipstaff": "bin/tipstaff.js"}
	about["engines"], about["files"] = map[string]string{"node": ">=18"}, []string{"bin"}
	about["optionalDependencies"] = optional
	about["keywords"] = []string{"mcp", "model-context-protocol", "sandbox", "shell", "agents"}
	return s.npm(out, "tipstaff", about, []entry{launcher, readme})
}

// npm writes one package.
func (s *stage) npm(out, name string, about map[string]any, list []entry) error {
	var text bytes.Buffer
	if err := writeJSON(&text, about); err != nil {
		return err
	}
	license, err := entryOf("LICENSE", filepath.Join(s.Root, "LICENSE"), 0o644)
	if err != nil {
		return err
	}
	list = append(list, license, entry{"package.json", 0o644, text.Bytes()})
	for i := range list {
		list[i].Name = "package/" + strings.TrimPrefix(list[i].Name, "/")
	}
	return create(out, name+"-"+s.Version+".npm.tgz", func(w io.Writer) error {
		return gzipped(w, func(w io.Writer) error { return tarball(w, list, s.Date) })
	})
}
