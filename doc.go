// Package tipstaff holds the words that every part of the program shares: what
// a caller asks ([Request]), how a command ended ([Result] with a [Cause]),
// and what is said when nothing was started ([Error] with a [Code]).
//
// The program runs commands for AI agents. A command goes one road only:
// [Request] → decision → record → start → record → [Result]; the road itself
// is one short function in internal/monitor. This package decides nothing,
// starts nothing, and imports nothing but the standard library.
//
// Read next: ARCHITECTURE.md, then internal/monitor.
package tipstaff
