package guard

const oldRename = 0 // arm64 has no rename(2)
