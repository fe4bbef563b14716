package proc

var oldRenames []uint32
