package guard

const oldRename = 82 // rename(2)
