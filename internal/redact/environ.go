package redact

import "strings"

// Secrets picks out of an environment, each "NAME=value", the variables whose
// name or value says that they are secret: what [New] is to know.
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
