//go:build linux

package sandbox

// attributeWords are in what programs print when they may not set an attribute of a
// file.
var attributeWords = []string{"operation not supported", "enotsup", "eopnotsupp"}

var (
	notSupported = newPattern(`(?i)operation not supported|EOPNOTSUPP|ENOTSUP`)
	attributes   = newPattern(`(?i)xattr|setfattr|setfacl|extended attribute|access control list|\bacl`)
)

// whyNoAttributes explains the filter of system calls of the landlock tier: Landlock
// does not see attributes, so commands cannot set any there.
func (c *Confined) whyNoAttributes(p remark) string {
	if c.sandbox.status.tier != Landlock || !notSupported.Match(p.line) || !attributes.Match(p.text) {
		return ""
	}
	return "the sandbox lets no command set extended attributes or access control lists of files on this machine, because it could not keep them to the workspace: go without them."
}
