//go:build race

package kit

// RaceEnabled says whether the test has the race detector, and with it the
// program under test.
const RaceEnabled = true
