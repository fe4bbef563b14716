// Package scan reads scripts of execute_shell: text in the language of Bash. It
// says what is refused before anything runs, and which commands are known from
// the text alone.
//
// It runs nothing. internal/script/worker interprets a script, in a process that can
// start nothing; internal/script puts each command on the execution path, where it is
// judged when it is reached, whatever this package has said about it before. So
// what this package finds may refuse a script early, and never allows anything.
package scan
