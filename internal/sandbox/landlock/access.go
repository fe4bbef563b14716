package landlock

import (
	"fmt"
	"strings"
)

// Access is a set of file operations: LANDLOCK_ACCESS_FS_* of linux/landlock.h,
// with the same bits.
type Access uint64

const (
	Execute     Access = 1 << iota // start a program
	WriteFile                      // open for writing
	ReadFile                       // open for reading
	ReadDir                        // open and list a directory
	RemoveDir                      // remove or rename a directory in this one
	RemoveFile                     // remove or rename a file in this one
	MakeChar                       // make a character device
	MakeDir                        // make a directory
	MakeReg                        // make a regular file
	MakeSock                       // make a socket, by binding it
	MakeFifo                       // make a named pipe
	MakeBlock                      // make a block device
	MakeSym                        // make a symbolic link
	Refer                          // rename and link to another directory; ABI 2
	Truncate                       // change the length of a file, also by opening it; ABI 3
	IoctlDev                       // control a device by ioctl(2); ABI 5
	ResolveUnix                    // connect to a socket of another domain by path; ABI 9
)

const (
	// Read is what reading files and running programs needs.
	Read = Execute | ReadFile | ReadDir
	// Write is what a workspace needs besides Read: all operations except those
	// on devices.
	Write = WriteFile | RemoveDir | RemoveFile | MakeDir | MakeReg | MakeSock | MakeFifo | MakeSym | Refer | Truncate
	// Device is what using a device needs.
	Device = ReadFile | WriteFile | IoctlDev
	// File is all that can be done to a file that is not a directory.
	File = Execute | WriteFile | ReadFile | Truncate | IoctlDev | ResolveUnix

	every = ResolveUnix<<1 - 1
)

// names are the kernel's names, in the order of the bits.
var names = strings.Fields("execute write_file read_file read_dir remove_dir remove_file make_char make_dir " +
	"make_reg make_sock make_fifo make_block make_sym refer truncate ioctl_dev resolve_unix")

// String lists the operations by the names of the kernel's documentation.
func (a Access) String() string {
	var list []string
	for i, name := range names {
		if a&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	if rest := a &^ every; rest != 0 {
		list = append(list, fmt.Sprintf("%#x", uint64(rest)))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
