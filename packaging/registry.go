package main

import "io"

// serverName is the name in the registry of the protocol. Its first part has to
// belong to whoever publishes; the packages name it, which proves that they belong
// to the entry.
const serverName = "io.github.tipstaff/tipstaff"

// registryEntry writes server.json, the entry for the registry.
func registryEntry(s *stage, out string) error {
	return create(out, "server.json", func(w io.Writer) error { return writeJSON(w, serverJSON(s.release)) })
}

func serverJSON(r release) map[string]any {
	return map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    serverName, "title": "tipstaff", "description": summary, "version": r.Version,
		"packages": []map[string]any{{
			"registryType": "npm", "identifier": "tipstaff", "version": r.Version, "transport": map[string]string{"type": "stdio"},
			"packageArguments": []map[string]any{{"type": "positional", "value": "serve"}},
			"environmentVariables": []map[string]any{
				{"name": "ALLOWED_COMMANDS", "description": "The programs that may run, with commas between them", "isRequired": true, "format": "string", "placeholder": "git,ls,cat"},
				{"name": "ALLOWED_CWD_ROOTS", "description": "The directories in which commands may work, with commas between them", "format": "string"},
				{"name": "TIPSTAFF_CONFIG", "description": "A policy file, in place of the list of programs", "format": "filepath"},
			},
		}},
	}
}
