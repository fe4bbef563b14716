package seccomp

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// reference decides as the rules read, without spans, search and machine.
type reference struct {
	audit  uint32
	decide map[uint32]decision // of calls with a name
}

func newReference(m made) reference {
	r := reference{audit: map[Arch]uint32{AMD64: 0xc000003e, ARM64: 0xc00000b7}[m.arch], decide: map[uint32]decision{}}
	list := rules(m.options)
	for name, n := range m.calls {
		r.decide[n] = allow
		for _, row := range list {
			if slices.Contains(strings.Fields(row.calls), name) {
				r.decide[n] = row.decide
			}
		}
	}
	return r
}

func (r reference) verdict(c call) verdict {
	if c.arch != r.audit {
		return kill
	}
	d, named := r.decide[c.number]
	if !named {
		return enosys
	}
	return judge(d, c)
}

func judge(d decision, c call) verdict {
	q, ok := d.(*question)
	if !ok {
		return d.(verdict)
	}
	w, _ := c.word(uint32(q.of))
	if q.mask != 0 {
		w &= q.mask
	}
	for _, a := range q.answers {
		if a.is == equals && w == a.k || a.is == anyBit && w&a.k != 0 || a.is == atLeast && w >= a.k {
			return judge(a.then, c)
		}
	}
	return judge(q.otherwise, c)
}

// interesting arguments: what the rules ask for, its neighbours, and nonsense.
var interesting = []uint64{
	0, 1, 2, 3, 5, 6, 8, 10, 14, 15, 16, 17, 33, 38, 40, 58, 80, 132, 262,
	0o100, 0o755, 0o1755, 0o2755, 0o4755, 0o6000, 0o20000000, 0o20200000,
	0x80, 0x100, 0x11200, 0x5411, 0x5412, 0x541c, 0x5423, 0x00020000, 0x20008, 0x40000, 0x400000, 0x100000,
	0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x80000, 0x800, 0x80801, 0x80802,
	0xffffffff, 0x7fffffff, 0x80000000, 1 << 32, 1<<32 | 1, 1<<32 | 15, 1<<63 | 2, ^uint64(0),
	testSecret, testSecret & 0xffffffff, testSecret &^ 0xffffffff, testSecret ^ 1, testSecret ^ 1<<32,
}

func argument() uint64 {
	v := interesting[rand.IntN(len(interesting))]
	switch rand.IntN(6) {
	case 0:
		return v | uint64(rand.Uint32())<<32
	case 1:
		return v | interesting[rand.IntN(len(interesting))]
	case 2:
		return rand.Uint64() & rand.Uint64()
	}
	return v
}

func agree(t testing.TB, code []Instruction, r reference, c call) {
	got, err := simulate(code, c)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	if want := r.verdict(c); got != want {
		t.Fatalf("%+v: the filter says %#x, the rules %#x", c, uint32(got), uint32(want))
	}
}

func TestTheFilterSaysWhatTheRulesSay(t *testing.T) {
	const x32 = 1 << 30
	numbers := []uint32{1 << 10, x32 - 1, x32 + 512, 1 << 31, ^uint32(0)}
	for n := range uint32(601) {
		numbers = append(numbers, n, n|x32)
	}
	archs := []uint32{0, 0xc000003e, 0xc00000b7, 0x40000003, 0x40000028, 0xc00000b7 ^ 1<<31}
	for _, m := range every() {
		r := newReference(m)
		for _, n := range numbers {
			times := 3
			if _, asks := r.decide[n].(*question); asks {
				times = 2000
			}
			for range times {
				c := call{arch: r.audit, number: n}
				for i := range c.args {
					c.args[i] = argument()
				}
				agree(t, m.code, r, c)
			}
			for _, foreign := range archs {
				agree(t, m.code, r, call{arch: foreign, number: n})
			}
		}
	}
}

func FuzzTheFilterSaysWhatTheRulesSay(f *testing.F) {
	all := every()
	var references []reference
	for _, m := range all {
		references = append(references, newReference(m))
	}
	f.Add(byte(0), uint32(0xc000003e), uint32(41), uint64(2), uint64(1), uint64(0), uint64(0), uint64(0))
	f.Add(byte(17), uint32(0xc00000b7), uint32(261), uint64(0), uint64(15), uint64(1)<<32, uint64(0), uint64(0))
	f.Add(byte(1), uint32(0xc000003e), uint32(435), uint64(0), uint64(88), uint64(0), uint64(0), uint64(testSecret))
	f.Add(byte(3), uint32(0x40000003), uint32(11), uint64(0), uint64(0), uint64(0), uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, which byte, arch, number uint32, a0, a1, a2, a3, a4 uint64) {
		m, r := all[int(which)%len(all)], references[int(which)%len(all)]
		args := [6]uint64{a0, a1, a2, a3, a4}
		agree(t, m.code, r, call{arch, number, args})
		agree(t, m.code, r, call{r.audit, number % 512, args})
	})
}
