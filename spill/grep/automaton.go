package grep

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
)

// An automaton tells whether a line matches, a table look-up a byte, where package regexp follows all ways through the
// pattern. Its states are made as lines need them. It reads ASCII: at any other byte it gives up and regexp decides; so
// it does for patterns with word boundaries. Only one goroutine uses an automaton.
type automaton struct {
	prog *syntax.Prog
	ids  map[string]int32
	sets [][]uint32 // by state: the instructions it stands for
	next [][128]int32
	ends []verdict // by state
	mark []uint32  // by instruction, the last set it was put into
	sum  uint32    // of sets made
}

// verdict is what a state says of a line.
type verdict uint8

const (
	matched      verdict = 1 << iota // whatever follows
	matchedAtEnd                     // if the line ends here
)

const (
	maxStates = 1000
	maxInsts  = 1000 // of a pattern that is made an automaton of
	unknown   = -1
	startOf   = 0 // the state at the beginning of a line
)

// newAutomaton returns nil for a pattern that is none of its kind.
func newAutomaton(tree *syntax.Regexp) *automaton {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxInsts {
		return nil
	}
	for _, inst := range prog.Inst {
		if inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
			return nil
		}
	}
	a := &automaton{prog: prog, ids: map[string]int32{}, mark: make([]uint32, len(prog.Inst))}
	a.sum++
	var start []uint32
	a.follow(&start, uint32(prog.Start), syntax.EmptyBeginLine|syntax.EmptyBeginText)
	a.state(start, true)
	return a
}

// follow adds to the set that is being made what can be reached from an instruction without reading. An end of line is reached or not when
// the line ends; until then it stays in the set.
func (a *automaton) follow(set *[]uint32, pc uint32, at syntax.EmptyOp) {
	if a.mark[pc] == a.sum {
		return
	}
	a.mark[pc] = a.sum
	*set = append(*set, pc)
	switch inst := &a.prog.Inst[pc]; inst.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		a.follow(set, inst.Out, at)
		a.follow(set, inst.Arg, at)
	case syntax.InstCapture, syntax.InstNop:
		a.follow(set, inst.Out, at)
	case syntax.InstEmptyWidth:
		if syntax.EmptyOp(inst.Arg)&^at == 0 {
			a.follow(set, inst.Out, at)
		}
	}
}

// state returns the number of the state for a set of instructions, unknown if there are too many.
func (a *automaton) state(set []uint32, first bool) int32 {
	slices.Sort(set)
	key := make([]byte, 0, 4*len(set)+1)
	if first { // what ends there is at the beginning of a line too
		key = append(key, '^')
	}
	for _, pc := range set {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	if id, ok := a.ids[string(key)]; ok {
		return id
	}
	if len(a.sets) == maxStates {
		return unknown
	}
	var v verdict
	for _, pc := range set {
		if a.prog.Inst[pc].Op == syntax.InstMatch {
			v |= matched | matchedAtEnd
		}
	}
	for _, pc := range set {
		var at []uint32
		ends := syntax.EmptyEndLine | syntax.EmptyEndText
		if first {
			ends |= syntax.EmptyBeginLine | syntax.EmptyBeginText
		}
		if a.prog.Inst[pc].Op == syntax.InstEmptyWidth {
			a.sum++
			a.follow(&at, pc, ends)
		}
		for _, end := range at {
			if a.prog.Inst[end].Op == syntax.InstMatch {
				v |= matchedAtEnd
			}
		}
	}
	id := int32(len(a.sets))
	a.ids[string(key)] = id
	a.sets, a.ends = append(a.sets, set), append(a.ends, v)
	var row [128]int32
	for i := range row {
		row[i] = unknown
	}
	a.next = append(a.next, row)
	return id
}

// step makes the way from a state over a byte.
func (a *automaton) step(from int32, c byte) int32 {
	var set []uint32
	a.sum++
	for _, pc := range a.sets[from] {
		inst := &a.prog.Inst[pc]
		switch inst.Op {
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if inst.MatchRune(rune(c)) {
				a.follow(&set, inst.Out, 0)
			}
		}
	}
	a.follow(&set, uint32(a.prog.Start), 0) // a match may begin anywhere
	to := a.state(set, false)
	a.next[from][c] = to
	return to
}

// line tells whether a line matches; sure is false if another must decide.
func (a *automaton) line(b []byte) (match, sure bool) {
	s := int32(startOf)
	for _, c := range b {
		if a.ends[s]&matched != 0 {
			return true, true
		}
		if c >= 0x80 {
			return false, false
		}
		to := a.next[s][c]
		if to == unknown {
			if to = a.step(s, c); to == unknown {
				return false, false
			}
		}
		s = to
	}
	return a.ends[s] != 0, true
}
