package capture

import "tipstaff"

// Share divides limit bytes between the two streams of a command. Each may use
// what the other leaves. If both want more, standard error gets a quarter,
// because it usually contains the reason of a failure.
func Share(limit int, stdout, stderr *Buffer) (out, err tipstaff.Stream) {
	forErr := clamp(stderr.Total(), max(limit/4, limit-clamp(stdout.Total(), limit)))
	return stdout.Stream(limit - forErr), stderr.Stream(forErr)
}

func clamp(n int64, limit int) int { return int(min(n, int64(limit))) }
