package redact

import "strings"

// walk goes over the words of a command, in order, and finds the secrets that
// show by the words around them. The zero walk stands before the first word.
type walk struct {
	family string // of the program whose words these are
	seen   marks
	next   demand // of the word before
	rest   string // the rule by which every further word is secret
	set    bool   // the word before was "set"; this one is a name
	nth    int    // words since the program that are no options
	long   bool   // the word before was an option with two dashes
}

// marks are the words seen that change what others mean.
type marks struct{ login, secret, batch, user bool }

// step judges the next word, which begins at offset at of a text, and adds
// what is to be hidden of it.
func (w *walk) step(word string, at int, hide *spans) {
	asked := w.next
	w.next = demand{}
	skip := len(word) - len(strings.TrimLeft(word, "\"'\\"))
	bare := word[skip:]
	switch {
	case asked.rule != "" && !optionLike(bare):
		if from, rule := asked.find(word); rule != "" {
			hide.add(at+from, at+quotedEnd(word, from), rule)
		}
		w.long = false
	case len(bare) > 1 && bare[0] == '-' && bare != "--":
		w.stepOption(bare, at+skip, hide)
		w.long = bare[1] == '-'
	default:
		w.stepWord(bare, at+skip, hide)
		w.long = false
	}
}

// quotedEnd returns where a secret ends that begins at from in word: before the
// closing mark, if the secret begins within the quotation.
func quotedEnd(word string, from int) int {
	last := len(word) - 1
	if from > 0 && last >= from && (word[0] == '"' || word[0] == '\'') && word[last] == word[0] {
		return last
	}
	return len(word)
}

// stepOption judges an option, and its value if that is in the same word.
func (w *walk) stepOption(word string, at int, hide *spans) {
	name, value, from, inline := splitOption(word)
	if w.family == "htpasswd" && word[1] != '-' && strings.Contains(word, "b") {
		w.seen.batch = true
		if strings.Contains(word, "n") {
			w.nth++ // no file comes first
		}
	}
	d := w.optionDemand(name)
	switch {
	case d.rule != "" && inline:
		if start, rule := d.find(value); rule != "" {
			hide.add(at+from+start, at+from+quotedEnd(value, start), rule)
		}
	case d.rule != "":
		w.next = d
	case word[1] != '-' && len(word) > 2:
		w.stepGlued(word, at, hide)
	}
}

// optionDemand says what the option takes, first by the program's own ways.
func (w *walk) optionDemand(option string) demand {
	if d := programOption(w.family, option, w.seen); d.rule != "" {
		return d
	}
	switch option {
	case "u", "user", "auth":
		return when(userOption(w.family), demand{"password", userPassword})
	case "H", "header":
		return demand{"header", headerValue}
	}
	rule, ok := optionRule(option)
	return when(ok, demand{rule, whole})
}

// stepGlued judges a short option with its value (-phunter2, -uuser:hunter2).
func (w *walk) stepGlued(word string, at int, hide *spans) {
	d := gluedOption(w.family, word[1], w.seen)
	from := 2
	if w.family == "7z" && strings.HasPrefix(word, "-hp") {
		d, from = demand{"pass", whole}, 3
	}
	if d.rule == "" {
		return
	}
	if start, rule := d.find(word[from:]); rule != "" {
		hide.add(at+from+start, at+len(word), rule)
	}
}

// stepWord judges a word that is no option.
func (w *walk) stepWord(word string, at int, hide *spans) {
	// docker run --name mysql -p 3306:3306 does not run mysql's own command.
	if f := family(programName(word)); f != "" && !(w.family == "docker" && w.long) {
		*w = walk{family: f}
		return
	}
	word = unquoted(word)
	w.nth++
	if w.set {
		w.set = false
		if rule, ok := SecretName(word); ok {
			w.next = demand{rule, whole}
			return
		}
	}
	w.remember(word)
	w.next = programWord(w.family, word, w.nth, w.seen)
	if rule, from, to := w.secretPlace(word); rule != "" {
		hide.add(at+from, at+to, rule)
	}
	if w.family == "redis-cli" && strings.EqualFold(word, "auth") {
		w.rest = "pass"
	}
}

// remember notes the words that change what later ones mean.
func (w *walk) remember(word string) {
	switch word {
	case "set":
		w.set = true
	case "login":
		w.seen.login = true
	case "secret":
		w.seen.secret = true
	case "add_user", "change_password", "authenticate_user":
		w.seen.user = true
	}
}

// secretPlace finds what is secret by its place among the words.
func (w *walk) secretPlace(word string) (rule string, from, to int) {
	switch {
	case w.rest != "":
		return w.rest, 0, len(word)
	case w.family == "htpasswd" && w.seen.batch && w.nth == 3:
		return "password", 0, len(word)
	case w.family == "sqlplus":
		// user/password@database
		user, rest, ok := strings.Cut(word, "/")
		if !ok || user == "" || rest == "" || strings.HasPrefix(user, "@") || pathLike(word) {
			return "", 0, 0
		}
		if to = strings.LastIndexByte(word, '@'); to < len(user) {
			to = len(word)
		}
		return "password", len(user) + 1, to
	}
	return "", 0, 0
}
