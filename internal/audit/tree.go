package audit

import (
	"crypto/sha256"

	"golang.org/x/mod/sumdb/tlog"
)

// tree is the Merkle tree over the lines of a trail (RFC 6962), as much of it as
// is needed to go on: the roots of the complete trees that stand side by side,
// the widest first. It holds as many of them as n has bits that are set.
type tree struct {
	n     uint64 // leaves
	roots []tlog.Hash
}

// add appends a line, without its newline.
func (t *tree) add(line []byte) { t.addLeaf(tlog.RecordHash(line)) }

// addLeaf appends the line with this hash.
func (t *tree) addLeaf(leaf tlog.Hash) {
	t.roots = append(t.roots, leaf)
	// Two complete trees of one height make one of the next.
	for rest := t.n; rest&1 == 1; rest >>= 1 {
		last := len(t.roots) - 1
		t.roots[last-1] = tlog.NodeHash(t.roots[last-1], t.roots[last])
		t.roots = t.roots[:last]
	}
	t.n++
}

// root is the hash of the whole tree.
func (t *tree) root() tlog.Hash {
	if t.n == 0 {
		return sha256.Sum256(nil) // RFC 6962, section 2.1
	}
	last := len(t.roots) - 1
	root := t.roots[last]
	for i := last - 1; i >= 0; i-- {
		root = tlog.NodeHash(t.roots[i], root)
	}
	return root
}
