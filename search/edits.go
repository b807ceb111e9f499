package search

import "math/bits"

func ones(m uint32) int { return bits.OnesCount32(m) }

// edits counts insertions, deletions, substitutions and transpositions of
// neighbours between a and b, up to limit; more is limit+1.
func edits(a, b string, limit int) int {
	const most = maxRun * 4
	if len(a) > most || len(b) > most {
		return limit + 1
	}
	var rows [3][most + 1]int16
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = int16(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = int16(i)
		least := row[0]
		for j := 1; j <= len(b); j++ {
			cost := int16(1)
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			least = min(least, d)
		}
		if int(least) > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(int(last[len(b)]), limit+1)
}
