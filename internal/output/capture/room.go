package capture

// Room returns how many bytes to keep of each output of a command of which an
// answer shows at most bound, counted after cleaning. It is more than the
// bound: what cleaning takes away makes room for what was kept beside it, and
// after a failure the answer shows more of the end (85 % of the bound; a Buffer
// of this size keeps 87.5 %).
func Room(bound int) int {
	const cheap = 192 << 10
	return bound + max(bound/4, min(3*bound, cheap))
}
