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
	some layer in input.layers
	layer.program in {"npm", "pnpm", "yarn", "cargo", "twine"}
	words(layer) & {"publish", "upload"} != set()
	not releaser
}

# A rule of its own: "not input.principal in data.site.releasers" would say
# nothing, and so refuse nothing, if data.site.releasers were missing.
releaser if input.principal in data.site.releasers

# What is hidden cannot be judged: an argument with a secret in it is for the
# programs that need one.
deny contains sprintf("Argument %d holds a secret. Pass it by a file or a variable.", [i]) if {
	some i in input.hidden
	not secretive
}

# One of the command lines is for a program that needs secrets. What a wrapper
# holds, the program behind it gets.
secretive if {
	some layer in input.layers
	layer.program in {"curl", "psql"}
}

# A rule can judge what it is told of. Where something else would be started, a
# person looks at it.
ask contains "It would start something that cannot be told from its arguments." if not input.layers_whole

# What no file of a policy knows, because it changes by the hour.
ask contains "The release is frozen, and this would change what others see." if {
	data.site.frozen
	some layer in input.layers
	layer.program in {"git", "gh"}
	words(layer) & {"push", "merge", "send-pack"} != set()
}

# The command itself is the first layer, and what it would start are the others:
# a rule about input.argv alone would not see the npm of timeout 20 npm publish.
words(layer) := {word | some i, word in layer.argv; i > 0}
