// Package seekable compresses files with zstd (RFC 8878), so that they can still be read
// from any place in them.
//
// A packed file is a number of frames that are independent of each other, each of
// [FrameBytes] of content, and behind them a table that says how long each one is, in
// a frame that decoders skip (the "seekable format" of zstd's contrib directory).
// "zstd -d" and every other program for zstd read it. A reader that wants bytes in
// the middle decodes the one frame in which they are.
//
// Content that was changed is noticed by the checksum of its frame, as far as a
// checksum goes: what must not be forged needs a signature over the whole file.
//
// Read next: write.go, read.go.
package seekable
