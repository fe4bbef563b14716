package redact

import "strings"

// optionRule is [SecretName] for the long options of programs, without dashes:
// most options with a telling name take a secret, but --password-file and
// --token-type do not, and --key or --license alone are not telling enough.
func optionRule(option string) (string, bool) {
	if ordinaryAlone(option) && option != "pin" && option != "pat" {
		return "", false
	}
	if rule := credentialHeader(option); rule != "" {
		return rule, true
	}
	var room [8]string
	w := splitName(room[:0], option)
	if len(w) == 0 || about(w[len(w)-1]) || toggle(w[0]) {
		return "", false
	}
	for _, end := range []string{"storepass", "keypass"} { // keytool, jarsigner
		if strings.HasSuffix(option, end) {
			return "pass", true
		}
	}
	if len(option) == 1 {
		return "", false
	}
	return secretWords(w, option)
}

// about reports whether an option that ends in these words takes information
// about a secret instead of the secret.
func about(word string) bool {
	switch word {
	case "file", "files", "path", "dir", "stdin", "fd", "env", "name", "type", "ttl",
		"prompt", "command", "cmd", "helper", "provider", "mode", "format", "length", "expiry":
		return true
	}
	return false
}

// splitOption splits an option: dashes, name, and the value after = if there is
// one, which begins at from.
func splitOption(word string) (name, value string, from int, inline bool) {
	i := 0
	for i < len(word) && word[i] == '-' {
		i++
	}
	end := strings.IndexByte(word, '=')
	if end < i {
		return word[i:], "", len(word), false
	}
	return word[i:end], word[end+1:], end + 1, true
}

// optionLike reports whether a word after an option is itself an option, rather
// than a value that begins with a dash.
func optionLike(word string) bool {
	name, _, _, _ := splitOption(word)
	if name == "" || word[0] != '-' {
		return false
	}
	if len(word) == 2 {
		return class(word[1]) != other
	}
	for i := range len(name) {
		if c := class(name[i]); c != lower && (c != digit || i == 0) && name[i] != '-' {
			return false
		}
	}
	return true
}
