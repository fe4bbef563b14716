// Package tipstaff holds the types that every part of the program shares: what
// a caller asks ([Request]), how a command ended ([Result] with a [Cause]), and
// what is said when nothing was started ([Error] with a [Code]).
//
// The program runs commands for AI agents. Every command takes the same path:
// [Request] → decision → record → start → record → [Result]. One short function
// in internal/monitor holds that path. This package decides nothing, starts
// nothing, and imports only the standard library.
//
// Read next: ARCHITECTURE.md, then internal/monitor.
package tipstaff
