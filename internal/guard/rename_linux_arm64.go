package guard

const oldRename = 0 // there is none
