// Package explain says what a server would decide, and why: on one command, on a
// script, and on all that a caller may ask for. It decides by the server's own code
// and runs nothing. What it returns is meant for people and, as JSON, for programs;
// the JSON is public.
package explain
