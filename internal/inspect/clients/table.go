package clients

// The table of clients. The vendors' pages say where a file lies and how an
// entry is written; a path in braces begins at a directory that [System] knows,
// or at one that a variable names ({$NAME}; without the variable, the place does
// not count). Sorted by name.
var table = []Client{
	{
		Name: "claude-code", Title: "Claude Code", Restart: "start a new session of Claude Code (one that runs may write its own copy of the file)",
		user:     places{any: []string{"{$CLAUDE_CONFIG_DIR}/.claude.json", "{home}/.claude.json"}},
		marks:    places{any: []string{"{$CLAUDE_CONFIG_DIR}", "{home}/.claude"}},
		programs: []string{"claude"},
		project:  []string{".mcp.json"}, format: jsonc("mcpServers"), entry: claudeCode, vendor: claudeAdd,
	},
	{
		Name: "claude-desktop", Title: "Claude Desktop", Restart: "quit Claude Desktop, also in its tray or menu bar, and start it again",
		NoHTTP: "Claude Desktop takes only commands from its file; add an address in Settings, Connectors",
		user: places{
			linux:   []string{"{config}/Claude/claude_desktop_config.json"},
			darwin:  []string{"{support}/Claude/claude_desktop_config.json"},
			windows: []string{"{appdata}/Claude/claude_desktop_config.json"},
		},
		format: jsonc("mcpServers"), entry: claudeDesktop, noShell: true,
	},
	{
		Name: "cline", Title: "Cline", Restart: "nothing: Cline reads the file when it changes",
		user: places{
			linux:   []string{"{$CLINE_MCP_SETTINGS_PATH}", "{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "{home}/.cline/data/settings/cline_mcp_settings.json"},
			darwin:  []string{"{$CLINE_MCP_SETTINGS_PATH}", "{support}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "{home}/.cline/data/settings/cline_mcp_settings.json"},
			windows: []string{"{$CLINE_MCP_SETTINGS_PATH}", "{appdata}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json", "{home}/.cline/data/settings/cline_mcp_settings.json"},
		},
		marks: places{
			linux:   []string{"{config}/Code/User/globalStorage/saoudrizwan.claude-dev", "{home}/.cline"},
			darwin:  []string{"{support}/Code/User/globalStorage/saoudrizwan.claude-dev", "{home}/.cline"},
			windows: []string{"{appdata}/Code/User/globalStorage/saoudrizwan.claude-dev", "{home}/.cline"},
		},
		programs: []string{"cline"},
		format:   jsonc("mcpServers"), entry: cline,
	},
	{
		Name: "codex", Title: "Codex", Restart: "start Codex again; a project's file counts in projects that it trusts",
		user:     places{any: []string{"{$CODEX_HOME}/config.toml", "{home}/.codex/config.toml"}},
		programs: []string{"codex"},
		project:  []string{".codex/config.toml"}, format: toml{at: "mcp_servers"}, entry: codex, vendor: codexAdd,
		ask: "codex mcp get " + ServerName, remove: "codex mcp remove " + ServerName,
	},
	{
		Name: "continue", Title: "Continue", Restart: "nothing: Continue reads the file when it changes; its agent mode has the tools",
		user:     places{any: []string{"{home}/.continue/config.yaml"}},
		programs: []string{"cn"},
		project:  []string{".continue/mcpServers/tipstaff.yaml"}, format: yamlList{at: "mcpServers", head: continueHead}, entry: continued,
	},
	{
		Name: "copilot", Title: "GitHub Copilot CLI", Restart: "start Copilot CLI again",
		user:     places{any: []string{"{$COPILOT_HOME}/mcp-config.json", "{home}/.copilot/mcp-config.json"}},
		programs: []string{"copilot"},
		project:  []string{".mcp.json"}, format: jsonc("mcpServers"), entry: copilot,
	},
	{
		Name: "crush", Title: "Crush", Restart: "start Crush again",
		user: places{
			windows: []string{"{localappdata}/crush/crush.json"},
			any:     []string{"{config}/crush/crush.json"},
		},
		programs: []string{"crush"},
		project:  []string{".crush.json", "crush.json"}, format: jsonc("mcp"), entry: crush,
	},
	{
		Name: "cursor", Title: "Cursor", Restart: "switch the server on in Cursor's settings, under MCP, or restart Cursor",
		user:     places{any: []string{"{home}/.cursor/mcp.json"}},
		programs: []string{"cursor", "cursor-agent"},
		project:  []string{".cursor/mcp.json"}, format: jsonc("mcpServers"), entry: cursor,
	},
	{
		Name: "gemini", Title: "Gemini CLI", Restart: "start Gemini CLI again, in a folder that it trusts (elsewhere it starts no servers)",
		user:     places{any: []string{"{home}/.gemini/settings.json"}},
		programs: []string{"gemini"},
		project:  []string{".gemini/settings.json"}, format: jsonc("mcpServers"), entry: gemini, vendor: geminiAdd,
		denial: denial{at: "tools exclude", tools: "run_shell_command"},
	},
	{
		Name: "goose", Title: "goose", Restart: "start a new session of goose",
		user: places{
			windows: []string{"{appdata}/Block/goose/config/config.yaml"},
			any:     []string{"{config}/goose/config.yaml"},
		},
		programs: []string{"goose"},
		format:   yamlMap{at: "extensions"}, entry: goose,
	},
	{
		Name: "kiro", Title: "Kiro", Restart: "nothing in the editor, which reads the file when it changes; start the command line again",
		user:     places{any: []string{"{home}/.kiro/settings/mcp.json"}},
		marks:    places{any: []string{"{home}/.kiro"}},
		programs: []string{"kiro", "kiro-cli"},
		project:  []string{".kiro/settings/mcp.json"}, format: jsonc("mcpServers"), entry: kiro,
	},
	{
		Name: "lmstudio", Title: "LM Studio", Restart: "restart LM Studio",
		user:     places{any: []string{"{home}/.lmstudio/mcp.json"}},
		programs: []string{"lms"},
		format:   jsonc("mcpServers"), entry: lmstudio, noShell: true,
	},
	{
		Name: "opencode", Title: "opencode", Restart: "start opencode again",
		user:     places{any: []string{"{$OPENCODE_CONFIG}", "{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"}},
		marks:    places{any: []string{"{config}/opencode"}},
		programs: []string{"opencode"},
		project:  []string{"opencode.json", "opencode.jsonc"}, format: jsonc("mcp"), entry: opencode,
		denial: denial{at: "permission", tools: "bash", value: "deny"},
	},
	{
		Name: "vscode", Title: "Visual Studio Code", Restart: "run \"MCP: List Servers\" in Visual Studio Code and start tipstaff there; it asks whether you trust it",
		user: places{
			linux:   []string{"{config}/Code/User/mcp.json"},
			darwin:  []string{"{support}/Code/User/mcp.json"},
			windows: []string{"{appdata}/Code/User/mcp.json"},
		},
		programs: []string{"code"},
		project:  []string{".vscode/mcp.json"}, format: jsonc("servers"), entry: vscode, vendor: codeAdd,
	},
	{
		Name: "windsurf", Title: "Windsurf", Restart: "press Refresh in Cascade's list of MCP servers, or restart Windsurf",
		user:     places{any: []string{"{home}/.codeium/windsurf/mcp_config.json"}},
		programs: []string{"windsurf"},
		format:   jsonc("mcpServers"), entry: windsurf,
	},
	{
		Name: "zed", Title: "Zed", Restart: "nothing: Zed reads the file when it changes",
		user: places{
			windows: []string{"{appdata}/Zed/settings.json"},
			darwin:  []string{"{home}/.config/zed/settings.json"},
			linux:   []string{"{config}/zed/settings.json"},
		},
		programs: []string{"zed", "zeditor"},
		project:  []string{".zed/settings.json"}, format: jsonc("context_servers"), entry: zed,
	},
}

// continueHead begins a file of its own in .continue/mcpServers.
var continueHead = object{{"name", ServerName}, {"version", "0.0.1"}, {"schema", "v1"}}
