//go:build linux && !race

package escape

const renameat2 = 276 // include/uapi/asm-generic/unistd.h
