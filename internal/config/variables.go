package config

import (
	"slices"
	"strings"
)

// Variable is one variable of the environment that is a setting.
type Variable struct {
	Name   string
	Value  string // as it is written, or the default as it could be
	Set    bool   // it stands in the environment and is not empty
	Secret bool   // nobody is to read the value
}

// setting is a variable with its default as it would be written; "" is none, or
// one that is worked out.
type setting struct {
	name, unset string
	secret      bool
}

// settings are all variables that [FromEnvironment] reads, in the order of
// README.md.
var settings = []setting{
	{name: "ALLOWED_COMMANDS"},
	{name: "ALLOWED_CWD_ROOTS"},
	{name: "TIPSTAFF_CONFIG"},
	{name: "ENABLE_TERMINAL_ACCESS", unset: "false"},
	{name: "TERMINAL_ALLOWLIST_PATH", unset: "./apps/tools/caws/tools-allow.json"},
	{name: "TERMINAL_DEFAULT_TIMEOUT", unset: "60000"},
	{name: "TERMINAL_MAX_TIMEOUT", unset: "300000"},
	{name: "TERMINAL_MAX_OUTPUT_SIZE", unset: "1048576"},
	{name: "TERMINAL_MAX_SESSIONS", unset: "50"},
	{name: "TIPSTAFF_DEFAULT_TIMEOUT", unset: "30000"},
	{name: "TIPSTAFF_MAX_TIMEOUT"},
	{name: "TIPSTAFF_SESSION_IDLE", unset: "1800000"},
	{name: "TIPSTAFF_MAX_CONCURRENT"},
	{name: "TIPSTAFF_SANDBOX", unset: "best-effort"},
	{name: "TIPSTAFF_SANDBOX_TIER"},
	{name: "TIPSTAFF_SANDBOX_PROFILE", unset: "workspace"},
	{name: "TIPSTAFF_NETWORK", unset: "on"},
	{name: "TIPSTAFF_LIMIT_PROCESSES", unset: "4096"},
	{name: "TIPSTAFF_LIMIT_MEMORY_BYTES"},
	{name: "TIPSTAFF_LIMIT_CPU_SECONDS"},
	{name: "TIPSTAFF_LIMIT_FILE_BYTES"},
	{name: "TIPSTAFF_LIMIT_OPEN_FILES"},
	{name: "TIPSTAFF_ARGUMENTS", unset: "contextual"},
	{name: "TIPSTAFF_DECIDER"},
	{name: "TIPSTAFF_DECIDER_TIMEOUT", unset: "500"},
	{name: "TIPSTAFF_RECORDINGS", unset: "false"},
	{name: "TIPSTAFF_RECORDING_BYTES", unset: "1048576"},
	{name: "TIPSTAFF_AUDIT_DURABILITY", unset: "interval"},
	{name: "TIPSTAFF_AUDIT_CHECKPOINTS"},
	{name: "TIPSTAFF_AUDIT_SINKS"},
	{name: "TIPSTAFF_AUDIT_WEBHOOK_SECRET_FILE"},
	{name: "TIPSTAFF_METRICS"},
	{name: "TIPSTAFF_HTTP"},
	{name: "TIPSTAFF_HTTP_HOSTS"},
	{name: "TIPSTAFF_HTTP_ORIGINS"},
	{name: "TIPSTAFF_HTTP_USERS"},
	{name: "TIPSTAFF_HTTP_RATE", unset: "1000"},
	{name: "TIPSTAFF_HTTP_CALLS", unset: "256"},
	{name: "TIPSTAFF_HTTP_SESSIONS", unset: "2000"},
	{name: "TIPSTAFF_HTTP_CONNECTIONS", unset: "1024"},
	{name: "TIPSTAFF_HTTP_TERMINAL_SESSIONS"},
	{name: "TIPSTAFF_HTTP_SESSION_IDLE", unset: "1800000"},
	{name: "LISTEN_PID"},
	{name: "LISTEN_FDS"},
	{name: "TIPSTAFF_TOKEN", secret: true},
	{name: "TIPSTAFF_TOKENS_FILE"},
	{name: "TIPSTAFF_TLS_CERT_FILE"},
	{name: "TIPSTAFF_TLS_KEY_FILE"},
	{name: "TIPSTAFF_TLS_CLIENT_CA_FILE"},
	{name: "TIPSTAFF_TLS_CLIENT_CERT"},
	{name: "TIPSTAFF_TLS_CLIENTS_FILE"},
	{name: "TIPSTAFF_TLS_CLIENT_SCOPES"},
	{name: "TIPSTAFF_OAUTH_ISSUER"},
	{name: "TIPSTAFF_OAUTH_AUDIENCE"},
	{name: "TIPSTAFF_OAUTH_JWKS_URL"},
	{name: "TIPSTAFF_OAUTH_ALGORITHMS"},
	{name: "TIPSTAFF_OAUTH_SCOPE_PREFIX"},
	{name: "TIPSTAFF_STATE_DIR"},
	{name: "OTEL_EXPORTER_OTLP_ENDPOINT"},
	{name: "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"},
	{name: "OTEL_EXPORTER_OTLP_HEADERS", secret: true},
	{name: "OTEL_EXPORTER_OTLP_LOGS_HEADERS", secret: true},
	{name: "OTEL_EXPORTER_OTLP_PROTOCOL"},
	{name: "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL"},
	{name: "JOURNAL_STREAM"},
	{name: "XDG_CONFIG_HOME"},
	{name: "XDG_STATE_HOME"},
	{name: "HOME"},
	{name: "PATH", unset: "/bin:/usr/bin"},
}

// Variables lists the settings of an environment.
func Variables(environ []string) []Variable {
	vars := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if _, dup := vars[name]; !dup {
			vars[name] = value
		}
	}
	out := make([]Variable, 0, len(settings))
	for _, s := range settings {
		v := Variable{Name: s.name, Value: s.unset, Secret: s.secret}
		if value := vars[s.name]; value != "" {
			v.Value, v.Set = value, true
		}
		out = append(out, v)
	}
	return out
}

// Unknown names the variables of an environment that look like settings and are
// none: somebody who wrote one meant something.
func Unknown(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		known := slices.ContainsFunc(settings, func(s setting) bool { return s.name == name })
		if strings.HasPrefix(name, "TIPSTAFF_") && !known && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
