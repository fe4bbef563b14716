package clients

// How clients write an entry. Most follow Claude Desktop for a command; for an
// address each has its own words. None of these entries holds a token: where a
// client fills in variables, the entry names TIPSTAFF_TOKEN, and elsewhere a
// person has to write it.

const (
	tokenByVariable = "set TIPSTAFF_TOKEN to the server's token in the environment that %s is started with"
	tokenByHand     = "put the server's token in the place of TOKEN in the entry"
)

// commandOf is the part of an entry that most clients share. An environment that
// is empty is left out.
func commandOf(e Entry) object {
	return withEnv(object{{"command", e.Command}, {"args", e.Args}}, "env", e)
}

func withEnv(o object, key string, e Entry) object {
	if len(e.Env) > 0 {
		o = append(o, field{key, environment(e.Env)})
	}
	return o
}

// bearer is the header that shows the token.
func bearer(token string) field {
	return field{"headers", object{{"Authorization", "Bearer " + token}}}
}

// common is the dialect of Claude Desktop, with the words for an address of
// another.
func common(before object, after object, http func(url string) object, url, token string) dialect {
	return dialect{
		stdio:   func(e Entry) object { return append(append(append(object{}, before...), commandOf(e)...), after...) },
		http:    http,
		command: "command", args: "args", env: "env", url: url, token: token,
	}
}

var (
	claudeDesktop = common(nil, nil, nil, "url", "")
	claudeCode    = common(object{{"type", "stdio"}}, nil, func(url string) object {
		return object{{"type", "http"}, {"url", url}, bearer("${TIPSTAFF_TOKEN}")}
	}, "url", tokenByVariable)
	vscode = common(object{{"type", "stdio"}}, nil, func(url string) object {
		return object{{"type", "http"}, {"url", url}, bearer("${env:TIPSTAFF_TOKEN}")}
	}, "url", tokenByVariable)
	cursor = common(nil, nil, func(url string) object {
		return object{{"url", url}, bearer("${env:TIPSTAFF_TOKEN}")}
	}, "url", tokenByVariable)
	windsurf = common(nil, nil, func(url string) object {
		return object{{"serverUrl", url}, bearer("${env:TIPSTAFF_TOKEN}")}
	}, "serverUrl", tokenByVariable)
	zed = common(nil, nil, func(url string) object {
		return object{{"url", url}, bearer("TOKEN")}
	}, "url", tokenByHand)
	codex = common(nil, nil, func(url string) object {
		return object{{"url", url}, {"bearer_token_env_var", "TIPSTAFF_TOKEN"}}
	}, "url", tokenByVariable)
	gemini = common(nil, nil, func(url string) object {
		return object{{"httpUrl", url}, bearer("${TIPSTAFF_TOKEN}")}
	}, "httpUrl", tokenByVariable)
	kiro = common(nil, nil, func(url string) object {
		return object{{"url", url}, bearer("${TIPSTAFF_TOKEN}")}
	}, "url", tokenByVariable)
	cline = common(nil, object{{"disabled", false}}, func(url string) object {
		return object{{"type", "streamableHttp"}, {"url", url}, bearer("TOKEN"), {"disabled", false}}
	}, "url", tokenByHand)
	crush = common(object{{"type", "stdio"}}, nil, func(url string) object {
		return object{{"type", "http"}, {"url", url}, bearer("$TIPSTAFF_TOKEN")}
	}, "url", tokenByVariable)
	copilot = common(object{{"type", "stdio"}}, object{{"tools", []string{"*"}}}, func(url string) object {
		return object{{"type", "http"}, {"url", url}, bearer("${TIPSTAFF_TOKEN}"), {"tools", []string{"*"}}}
	}, "url", tokenByVariable)
	lmstudio = common(nil, nil, func(url string) object {
		return object{{"url", url}, bearer("TOKEN")}
	}, "url", tokenByHand)
	continued = common(object{{"name", ServerName}, {"type", "stdio"}}, nil, func(url string) object {
		return object{{"name", ServerName}, {"type", "streamable-http"}, {"url", url}, {"requestOptions", object{bearer("TOKEN")}}}
	}, "url", tokenByHand)
	opencode = dialect{
		stdio: func(e Entry) object {
			o := object{{"type", "local"}, {"command", append([]string{e.Command}, e.Args...)}, {"enabled", true}}
			return withEnv(o, "environment", e)
		},
		http: func(url string) object {
			return object{{"type", "remote"}, {"url", url}, {"enabled", true}, bearer("{env:TIPSTAFF_TOKEN}")}
		},
		command: "command", joined: true, env: "environment", url: "url", token: tokenByVariable,
	}
	goose = dialect{
		stdio: func(e Entry) object {
			o := object{{"enabled", true}, {"type", "stdio"}, {"name", ServerName}, {"description", gooseText}, {"cmd", e.Command}, {"args", e.Args}}
			return append(withEnv(o, "envs", e), field{"timeout", 300})
		},
		http: func(url string) object {
			return object{{"enabled", true}, {"type", "streamable_http"}, {"name", ServerName}, {"description", gooseText}, {"uri", url}, bearer("TOKEN"), {"timeout", 300}}
		},
		command: "cmd", args: "args", env: "envs", url: "uri", token: tokenByHand,
	}
)

const gooseText = "Runs commands by your rules, confined and on the record"
