// Package redact finds secrets and hides them from the record.
//
// [SecretName] says whether the name of a variable, option or field promises a
// secret; [SecretValue] says whether a value looks like one, whatever its name.
// A [Redactor] adds the values that are known to be secret and hides all three
// kinds in a command: [Redactor.Argv] for arguments, [Redactor.Text] for a line
// that could not be split. What was hidden reads <redacted:rule>.
//
// Hiding errs towards too much. It can still miss: a secret with no telling
// name, no telling form and no known value looks like any other word. Nothing
// here judges whether a command may run, reads a file or reads an environment.
//
// Read next: name.go and value.go for the rules, redactor.go for the work.
package redact
