package seekable

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// FrameBytes is how much content one frame has, the last one excepted.
const FrameBytes = 1 << 20

// Extension is the end of the name of a packed file.
const Extension = ".zst"

// ErrCorrupt is the error about a file that is not what [Write] has made.
var ErrCorrupt = errors.New("the compressed file is damaged")

// The table of frames, in zstd's seekable format: a skippable frame with one entry
// for each frame (compressed and decompressed size), and a footer (number of frames,
// a byte of flags, a magic number).
const (
	skippable   = 0x184D2A5E
	seekable    = 0x8F92EAB1
	skipHeader  = 8
	entryBytes  = 8
	footerBytes = 9
	// maxFrames bounds the table that is read: a file of four tebibytes.
	maxFrames = 1 << 22
	// maxPackedFrame is more than what FrameBytes become that cannot be compressed.
	maxPackedFrame = FrameBytes + FrameBytes/64 + 1<<10
)

// frame is an entry of the table.
type frame struct{ packed, content uint32 }

// appendTable appends the table to a file.
func appendTable(out []byte, frames []frame) []byte {
	out = binary.LittleEndian.AppendUint32(out, skippable)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(frames)*entryBytes+footerBytes))
	for _, f := range frames {
		out = binary.LittleEndian.AppendUint32(out, f.packed)
		out = binary.LittleEndian.AppendUint32(out, f.content)
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(len(frames)))
	out = append(out, 0) // no checksums here: each frame has its own
	return binary.LittleEndian.AppendUint32(out, seekable)
}

// footer reads how many frames there are.
func footer(last []byte) (frames int, err error) {
	n := binary.LittleEndian.Uint32(last)
	if binary.LittleEndian.Uint32(last[5:]) != seekable || last[4] != 0 || n > maxFrames {
		return 0, fmt.Errorf("%w: it has no table of its frames at its end", ErrCorrupt)
	}
	return int(n), nil
}

// place is where a frame lies, and what of the content it holds.
type place struct {
	frame
	at, from int64 // in the file, in the content
}

// parseTable reads the table that begins at an offset of the file. Its frames fill
// everything before it.
func parseTable(table []byte, frames int, at int64) (list []place, content int64, err error) {
	size := uint32(frames*entryBytes + footerBytes)
	if binary.LittleEndian.Uint32(table) != skippable || binary.LittleEndian.Uint32(table[4:]) != size {
		return nil, 0, fmt.Errorf("%w: the table of its frames is none", ErrCorrupt)
	}
	list = make([]place, frames)
	var packed int64
	for i := range list {
		entry := table[skipHeader+i*entryBytes:]
		f := frame{binary.LittleEndian.Uint32(entry), binary.LittleEndian.Uint32(entry[4:])}
		if f.packed > maxPackedFrame || f.content > FrameBytes || f.content == 0 || i+1 < frames && f.content != FrameBytes {
			return nil, 0, fmt.Errorf("%w: frame %d is of a size that none has", ErrCorrupt, i+1)
		}
		list[i] = place{f, packed, content}
		packed, content = packed+int64(f.packed), content+int64(f.content)
	}
	if packed != at {
		return nil, 0, fmt.Errorf("%w: its frames are longer or shorter than their table says", ErrCorrupt)
	}
	return list, content, nil
}
