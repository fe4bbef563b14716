// Package policy decides whether a command may run. [Policy.Decide] is pure: it
// asks a [World] for facts about the machine, applies every rule, and returns
// all findings; the strictest one wins. The permission to run is a [Grant],
// which only Decide can make and which a runner consumes.
//
// Rules narrow and never widen. What cannot be judged is denied. The package
// starts nothing and reads no files and no environment variables.
//
// Read next: policy.go, then the rule_*.go files in the order of the table
// there.
package policy
