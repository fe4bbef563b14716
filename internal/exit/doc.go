// Package exit has the exit codes of the program and the errors that carry one. Other
// packages name codes; only this one knows their numbers.
package exit
