//go:build escape

package e2e

const renameat2 = 276 // include/uapi/asm-generic/unistd.h
