package main

import (
	"bytes"
	"io"
	"path/filepath"
)

// bundles writes a bundle for clients that install servers by a click (.mcpb),
// for Linux alone: elsewhere there is no sandbox of ours, and a click should not
// install a server without one.
func bundles(s *stage, out string) error {
	for _, p := range s.Platforms {
		if p.OS != "linux" {
			continue
		}
		var manifest bytes.Buffer
		if err := writeJSON(&manifest, manifestOf(s.release)); err != nil {
			return err
		}
		bin, err := entryOf("server/tipstaff", s.binary(p), 0o755)
		if err != nil {
			return err
		}
		license, err := entryOf("LICENSE", filepath.Join(s.Root, "LICENSE"), 0o644)
		if err != nil {
			return err
		}
		list := []entry{{"manifest.json", 0o644, manifest.Bytes()}, bin, license}
		if err := create(out, "tipstaff_"+s.Version+"_"+p.String()+".mcpb", func(w io.Writer) error { return zipped(w, list, s.Date) }); err != nil {
			return err
		}
	}
	return nil
}

// manifestOf is the manifest of a bundle. The client asks for the folder and the
// programs. The server starts in the folder, which a client cannot say itself.
func manifestOf(r release) map[string]any {
	return map[string]any{
		"manifest_version": "0.3", "name": "tipstaff", "display_name": "tipstaff", "version": r.Version,
		"description": summary, "long_description": description, "author": map[string]string{"name": "tipstaff"}, "license": license,
		"server": map[string]any{
			"type": "binary", "entry_point": "server/tipstaff",
			"mcp_config": map[string]any{
				"command": "/bin/sh",
				"args":    []string{"-c", `cd "$1" && exec "$0" serve`, "${__dirname}/server/tipstaff", "${user_config.folder}"},
				"env":     map[string]string{"ALLOWED_COMMANDS": "${user_config.programs}", "ALLOWED_CWD_ROOTS": "${user_config.folder}"},
			},
		},
		"tools": []map[string]string{
			{"name": "execute_command", "description": "Run one command line, without a shell"},
			{"name": "execute_process", "description": "Run one program with a list of arguments"},
			{"name": "read_output", "description": "Read what a command has printed, and wait for it"},
			{"name": "write_input", "description": "Type into a command that runs in the background"},
			{"name": "stop_command", "description": "Stop a command that runs in the background"},
		},
		"tools_generated": true,
		"compatibility":   map[string]any{"platforms": []string{"linux"}},
		"user_config": map[string]any{
			"folder":   map[string]any{"type": "directory", "title": "Folder", "description": "Commands start in this folder, and work in it only.", "required": true, "default": "${HOME}"},
			"programs": map[string]any{"type": "string", "title": "Programs", "description": "The programs that may run, with commas between them.", "required": true, "default": "ls,cat,grep,git"},
		},
	}
}
