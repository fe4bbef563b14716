//go:build unix

package ship

// adopts says whether trails of processes that have ended can be recognized.
const adopts = true
