package seccomp

import (
	"fmt"
	"math"
	"slices"
)

// Opcodes other than comparisons: linux/bpf_common.h.
const (
	load       = 0x20 // BPF_LD|BPF_W|BPF_ABS: the word at offset K
	and        = 0x54 // BPF_ALU|BPF_AND|BPF_K
	returnCode = 0x06 // BPF_RET|BPF_K
)

// assembler converts decisions to instructions.
type assembler struct {
	code  []Instruction
	at    map[decision]int // index of each decision's first instruction
	jumps []jump
}

// jump is an instruction whose two targets are not resolved yet.
type jump struct {
	at      int
	yes, no decision // nil: the next instruction
}

// assemble returns the program that begins with a decision. BPF jumps go
// forward only, over at most 255 instructions, so each decision is placed
// behind all those that lead to it. A program that is too long gives an error.
func assemble(first decision) ([]Instruction, error) {
	a := &assembler{at: map[decision]int{}}
	for _, d := range order(first) {
		a.at[d] = len(a.code)
		switch d := d.(type) {
		case verdict:
			a.emit(returnCode, uint32(d))
		case *question:
			a.ask(d)
		}
	}
	for _, j := range a.jumps {
		yes, err := a.distance(j.at, j.yes)
		if err != nil {
			return nil, err
		}
		no, err := a.distance(j.at, j.no)
		if err != nil {
			return nil, err
		}
		a.code[j.at].JumpTrue, a.code[j.at].JumpFalse = yes, no
	}
	return a.code, nil
}

// order lists a decision and all decisions that it leads to, each once and
// behind those that lead to it. The default branch of a question follows it
// closely.
func order(first decision) []decision {
	var list []decision
	seen := map[decision]bool{}
	var visit func(decision)
	visit = func(d decision) {
		if seen[d] {
			return
		}
		seen[d] = true
		for _, n := range d.next() {
			visit(n)
		}
		list = append(list, d)
	}
	visit(first)
	slices.Reverse(list)
	return list
}

func (a *assembler) emit(code uint16, k uint32) {
	a.code = append(a.code, Instruction{Code: code, K: k})
}

// ask emits one question: a load, unless the accumulator still has the word,
// and a comparison for each answer. Where the comparisons lead is filled in
// when the decisions after them have their positions.
func (a *assembler) ask(q *question) {
	if q.of != previousWord {
		a.emit(load, uint32(q.of))
	}
	if q.mask != 0 {
		a.emit(and, q.mask)
	}
	for i, one := range q.answers {
		j := jump{at: len(a.code), yes: one.then}
		if i == len(q.answers)-1 {
			j.no = q.otherwise
		}
		a.jumps = append(a.jumps, j)
		a.emit(uint16(one.is), one.k)
	}
}

func (a *assembler) distance(from int, to decision) (uint8, error) {
	if to == nil {
		return 0, nil
	}
	d := a.at[to] - from - 1
	if d < 0 || d > math.MaxUint8 {
		return 0, fmt.Errorf("a jump over %d instructions does not fit", d)
	}
	return uint8(d), nil
}
