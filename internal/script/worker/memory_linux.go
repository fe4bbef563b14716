//go:build linux && !race

package worker

// maxData bounds the memory of the process by the kernel (RLIMIT_DATA). Go counts
// against it what it has mapped, in steps of 64 MiB; what asks for more is ended.
const maxData = 768 << 20
