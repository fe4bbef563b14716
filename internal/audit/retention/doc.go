// Package retention bounds what trails and recordings take on the disk, by age and by size:
// it decides what goes, oldest first, and has a [audit.Keeper] carry it out, which
// leaves signed statements.
//
// Only what can no longer change goes: sealed segments, and trails whose server has
// signed their end or has died. What does not verify stays, because it is evidence,
// and so does what an engine is to have a copy of and has not yet.
//
// Several servers of one state directory take turns: one of them sweeps at a time, and
// not more often than each [Every].
//
// Read next: bounds.go for the setting, plan.go for what goes, sweep.go, sweeper.go.
package retention
