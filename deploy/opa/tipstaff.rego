# Which commands of agents may run, beside tipstaff's own policy: an example to
# start from. What tipstaff refuses never comes here, and nothing that is said
# here makes it allow more. docs/decider.md has every field of the input.
package tipstaff

# Without a word against it, a command runs as tipstaff has decided.
default decision := {"decision": "allow"}

decision := {"decision": "deny", "reason": concat(" ", sort(deny))} if {
	count(deny) > 0
} else := {
	"decision": "ask",
	"reason": concat(" ", sort(ask)),
	"hint": "Say in a sentence what it is for, and wait.",
} if {
	count(ask) > 0
}

# The fields mean what they meant when these rules were written.
deny contains "These rules are for another version of tipstaff's input." if input.version != 1

# Who may publish is the operator's word, not the caller's: input.agent and
# input.task are claims, input.principal is not.
deny contains "Only releasers publish. Open a pull request instead." if {
	program in {"npm", "cargo", "twine"}
	words & {"publish", "upload"} != set()
	not releaser
}

# A rule of its own: "not input.principal in data.site.releasers" would say
# nothing, and so refuse nothing, if data.site.releasers were missing.
releaser if input.principal in data.site.releasers

# What is hidden cannot be judged: an argument with a secret in it is for the
# programs that need one.
deny contains sprintf("Argument %d holds a secret. Pass it by a file or a variable.", [i]) if {
	some i in input.hidden
	not program in {"curl", "psql"}
}

# What no file of a policy knows, because it changes by the hour.
ask contains "The release is frozen, and this would change what others see." if {
	data.site.frozen
	program in {"git", "gh"}
	words & {"push", "merge"} != set()
}

program := last if {
	parts := split(input.file, "/")
	last := parts[count(parts) - 1]
}

words := {word | some i, word in input.argv; i > 0}
