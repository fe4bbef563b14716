package audit

import (
	"io/fs"

	"tipstaff/internal/audit/seekable"
)

// packedFile is the content of a packed file, which is read as if it were the file.
type packedFile struct {
	*seekable.Reader

	file File
}

// Stat describes the content.
func (p packedFile) Stat() (fs.FileInfo, error) {
	info, err := p.file.Stat()
	if err != nil {
		return nil, err
	}
	return packedInfo{info, p.Size()}, nil
}

// Close closes the packed file.
func (p packedFile) Close() error { return p.file.Close() }

// packedInfo is what is known of a packed file, with the size of its content.
type packedInfo struct {
	fs.FileInfo

	content int64
}

// Size is the size of the content.
func (p packedInfo) Size() int64 { return p.content }

// openStored opens a file where it is stored.
func (f Files) openStored(path string) (File, error) {
	at, packed, err := f.stored(path)
	if err != nil {
		return nil, err
	}
	file, err := f.open(at)
	if err != nil || !packed {
		return file, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	content, err := seekable.NewReader(file, info.Size())
	if err != nil {
		_ = file.Close()
		return nil, &fs.PathError{Op: "open", Path: at, Err: err}
	}
	return packedFile{content, file}, nil
}

// statStored describes a file that is stored elsewhere.
func (f Files) statStored(path string) (fs.FileInfo, error) {
	file, err := f.openStored(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return file.Stat()
}

// onDisk returns what is known of the file that holds the content, packed or not.
func onDisk(info fs.FileInfo) fs.FileInfo {
	if p, ok := info.(packedInfo); ok {
		return p.FileInfo
	}
	return info
}
