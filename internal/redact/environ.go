package redact

import "strings"

// Secrets returns the variables of an environment, each "NAME=value", whose
// name or value indicates a secret, for [New].
func Secrets(environ []string) map[string]string {
	known := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		_, byName := SecretName(name)
		_, byValue := SecretValue(value)
		if byName || byValue {
			known[name] = value
		}
	}
	return known
}
