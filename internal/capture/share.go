package capture

import "tipstaff"

// Share divides limit bytes between the two streams of a command. Either may
// use what the other leaves; when both want more, a quarter is kept for
// standard error, where the reason of a failure usually stands.
func Share(limit int, stdout, stderr *Buffer) (out, err tipstaff.Stream) {
	forErr := clamp(stderr.Total(), max(limit/4, limit-clamp(stdout.Total(), limit)))
	return stdout.Stream(limit - forErr), stderr.Stream(forErr)
}

func clamp(n int64, limit int) int { return int(min(n, int64(limit))) }
