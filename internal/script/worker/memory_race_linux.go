//go:build linux && race

package worker

// maxData is higher under the race detector, which needs several times the memory.
const maxData = 16 << 30
