// Package policy decides whether a command may run. [Policy.Decide] is pure:
// it asks a [World] for facts about the machine, lets every rule judge, and
// answers with all findings; the strictest one wins. Permission to run is a
// [Grant], which only Decide can make and a runner consumes.
//
// Rules narrow and never widen. What cannot be judged is denied. The package
// starts nothing, reads no file and no environment.
//
// Read next: policy.go, then the rule_*.go files in the order of the table there.
package policy
