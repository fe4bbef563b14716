package proc

// Input identifies what a program reads as its standard input: a pipe or a
// terminal. It stays valid when the file is closed. The zero Input is none.
type Input struct {
	device, inode uint64
	terminal      uint64 // the device number of a terminal; 0: it is none
}
