//go:build linux && (amd64 || arm64)

package proc

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// follow makes the mounts of an instance receive what is mounted later in the
// namespaces that they were copied from (MS_SLAVE). Nothing propagates the other way,
// so a command cannot change the mounts of the enclosure.
func (s *childSteps) follow() error {
	slash, err := s.text("/")
	if err != nil {
		return err
	}
	s.add("follow the mounts", unix.SYS_MOUNT, 0, slash, 0, unix.MS_REC|unix.MS_SLAVE, 0)
	return nil
}

// Bind mounts a file on itself, read-only, in the namespaces of the enclosure and of
// every instance, present and future. The file is name in the directory that the mount
// at path covers; [Mount.KeepCovered] must be set for that mount, and the file must
// exist. The mount is on the file below the mount at path: if the file is renamed from
// outside to a name in a directory above, the mount moves with it, so a rename does not
// make the file writable.
func (n *Enclosure) Bind(path, name string) error {
	dir, kept := n.covered[path]
	if !kept {
		return fmt.Errorf("cannot bind a file in %s: no mount there keeps the directory that it covers", path)
	}
	s, tree, err := n.bindSteps(uintptr(dir), name)
	if err == nil {
		err = n.engine.carryOut(s, unix.CLONE_FILES)
	}
	if err != nil {
		if tree != nil && *tree > 0 {
			_ = unix.Close(int(*tree)) // the child shares the server's descriptor table
		}
		return fmt.Errorf("cannot bind a file in %s: %w", path, err)
	}
	return nil
}

// bindSteps returns the steps of Bind, and where the descriptor of the mount is stored
// while it is open. The file is named relative to a descriptor and never by a path, and
// a symbolic link in its place is not followed.
func (n *Enclosure) bindSteps(dir uintptr, name string) (s *childSteps, tree *uintptr, err error) {
	s, tree = &childSteps{}, new(uintptr)
	for _, one := range n.enter {
		if one.kind == unix.CLONE_NEWUSER || one.kind == unix.CLONE_NEWNS {
			s.add("enter the namespaces", unix.SYS_SETNS, uintptr(one.fd), one.kind)
		}
	}
	file, err := s.text(name)
	if err != nil {
		return nil, nil, err
	}
	none, err := s.text("")
	if err != nil {
		return nil, nil, err
	}
	hold(s, tree)
	s.add("take the file", unix.SYS_OPEN_TREE, dir, file, unix.OPEN_TREE_CLONE|unix.O_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW).result = tree
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	s.at("make it read-only", unix.SYS_MOUNT_SETATTR, tree, none, unix.AT_EMPTY_PATH, hold(s, attr), unsafe.Sizeof(*attr))
	s.at("mount it", unix.SYS_MOVE_MOUNT, tree, none, dir, file, unix.MOVE_MOUNT_F_EMPTY_PATH)
	s.at("close", unix.SYS_CLOSE, tree).result = tree // sets it to 0
	s.add("end", unix.SYS_EXIT_GROUP, 0)
	return s, tree, nil
}
