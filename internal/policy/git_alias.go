package policy

import (
	"path"
	"slices"
	"strings"

	"tipstaff/internal/command/cmdline"
	"tipstaff/internal/command/gitpush"
	"tipstaff/internal/command/programs"
	"tipstaff/internal/policy/language"
)

// byAlias is what starts a command of git that an alias stands for.
const byAlias = "an alias of git"

// aliasOf returns the command that git would run for an alias. It looks up only
// words that are no subcommand, because git accepts no alias for those. The
// aliases of an unknown repository are unknown too.
func aliasOf(l *layer) ([]programs.Start, []fault) {
	facts, knows := l.facts.(language.Repositories)
	if !knows || path.Base(l.words[0]) != "git" || l.from.Open || len(l.from.Holes) > 0 {
		return nil, nil
	}
	location, sub, at := gitpush.Subcommand(l.words[1:])
	if sub == "" || programs.Find("git").Has(sub) {
		return nil, nil
	}
	repo := facts.Repository(location)
	value, ok := repo.Alias(sub)
	if !ok {
		return nil, nil
	}
	index := l.position.Of(at)
	if strings.HasPrefix(value, "!") {
		line, err := cmdline.Read(value[1:])
		if err != nil || strings.Contains(value, `\`) {
			return nil, []fault{{index, sub, "an alias of git that is more than one plain command for a shell"}}
		}
		return []programs.Start{{Words: slices.Concat(line.Words, l.words[at+2:]), By: "git " + sub, Index: index, Moved: true}}, nil
	}
	words := slices.Concat(l.words[:at+1], gitWords(value), l.words[at+2:])
	return []programs.Start{{Words: words, By: byAlias, Index: index, Itself: true}}, nil
}
