package search

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

const (
	maxIntents = 6 // parts of a query that are ranked for themselves
	led        = 2 // hits for the whole of a sentence that come before those for its clauses
)

// intents cuts a query at semicolons, which separate things wanted.
func intents(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(part) != "" {
			out = append(out, part)
		}
	}
	if len(out) == 0 {
		return []string{text}
	}
	return atMost(out)
}

func atMost(parts []string) []string {
	if len(parts) > maxIntents {
		parts = append(parts[:maxIntents-1], strings.Join(parts[maxIntents-1:], " "))
	}
	return parts
}

// clauses cuts a sentence where something ends and another thing to do begins, as in "find the failing build and tell
// the channel". A clause that says less than two things joins its neighbour.
func clauses(part string) []string {
	words := strings.Fields(part)
	var out []string
	from := 0
	quoted := sentence(words)
	for i := 1; i < len(words); i++ {
		if quoted[i] != literal && ends(words[i-1]) && begins(words[i:]) && tells(words[from:i]) && tells(words[i:]) {
			out = append(out, strings.Join(words[from:i], " "))
			from = i
		}
	}
	if from < len(words) {
		out = append(out, strings.Join(words[from:], " "))
	}
	return atMost(out)
}

// ends is true of a word after which another clause may begin.
func ends(word string) bool {
	switch strings.ToLower(word) {
	case "and", "then", "&", "also", "afterwards", "plus":
		return true
	}
	return strings.ContainsRune(",.!?:", rune(word[len(word)-1]))
}

// begins is true of words that, after fillers, start with something to do.
func begins(words []string) bool {
	for _, w := range words[:min(len(words), 8)] {
		w = strings.TrimFunc(strings.ToLower(w), unicode.IsPunct)
		switch {
		case acts()[w]:
			return true
		case !fillers()[w]:
			return false
		}
	}
	return false
}

// tells is true of words of which two say something.
func tells(words []string) bool {
	n := 0
	for _, w := range words {
		w = strings.TrimFunc(strings.ToLower(w), unicode.IsPunct)
		if w != "" && !fillers()[w] && (!stopWords()[w] || acts()[w]) {
			n++
		}
	}
	return n >= 2
}

var fillers = sync.OnceValue(func() map[string]bool { return wordSet(fillerList) })

const fillerList = `
and then also please finally lastly additionally furthermore moreover after that afterwards next first firstly second secondly third thirdly
i we you need want to would like could can will should must help me us my let once done it when this is be able have
`

var acts = sync.OnceValue(func() map[string]bool { return wordSet(actList) })

// actList are words that tell to do something when a clause begins with them.
const actList = `
add analyze analyse append apply approve archive assign attach book build buy calculate call cancel change check clean clear click clone close collect
comment commit compare compute configure connect convert copy count create deactivate delete deploy describe detect determine disable display
download draft draw edit email enable estimate evaluate execute explain explore export extract fetch fill filter find fix forward
generate get give import insert inspect install invite kill launch learn list load locate log look mark measure merge message monitor
move mute notify obtain open optimize order pause perform pin ping plan play plot post predict print process provide publish pull purchase push put
query read rebuild recommend record refund register reject reload remind remove rename render replace reply report request reserve reset resize
resolve restart restore resume retrieve retry return revert review revoke rotate run save scan schedule search select send set share show
sign sort start stop store submit subscribe summarize summarise sync tag take tell test track transfer translate trigger turn undo unsubscribe
update upgrade upload validate verify view watch write
`

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// ranked is what one intent found.
type ranked struct {
	top       []candidate
	total     int
	confident bool
	note      string
}

// takeTurns merges the hits of several intents: the best of each, then the second of each, and so on. Of intents
// that found nothing that fits, only those are heard when no other was.
func (x *Index) takeTurns(all []ranked) []candidate {
	heard := slices.DeleteFunc(slices.Clone(all), func(r ranked) bool { return !r.confident })
	if len(heard) == 0 {
		heard = all
	}
	var out []candidate
	at := map[int32]int{}
	for turn, more := 0, true; more && len(out) < maxHits; turn++ {
		more = false
		for _, r := range heard {
			if turn >= len(r.top) {
				continue
			}
			more = true
			c := r.top[turn]
			if i, ok := at[c.doc]; ok {
				out[i].fields |= c.fields
				continue
			}
			at[c.doc] = len(out)
			out = append(out, c)
		}
	}
	for i := range out { // what is shown first counts more, whatever its own intent gave it
		out[i].score = float32(fusion) / float32(fusion+i)
	}
	return out[:min(len(out), maxHits)]
}

// cover lets the best of each clause follow the first hits for the whole query, so that no clause goes unheard. A cut
// may be wrong: what fits the whole comes first.
func cover(whole ranked, clauses []ranked) ranked {
	lead := min(led, len(whole.top))
	out := slices.Clone(whole.top[:lead])
	in := map[int32]bool{}
	for _, c := range out {
		in[c.doc] = true
	}
	add := func(c candidate) {
		if !in[c.doc] {
			in[c.doc] = true
			out = append(out, c)
		}
	}
	for _, r := range clauses {
		if r.confident {
			add(r.top[0])
		}
	}
	for _, c := range whole.top[lead:] {
		add(c)
	}
	for i := 1; i < len(out); i++ { // scores fall as the hits do
		out[i].score = min(out[i].score, out[i-1].score)
	}
	whole.top = out[:min(len(out), maxHits)]
	return whole
}

// byScore orders candidates, the best first.
func (x *Index) byScore(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(x.docs[a.doc].place, x.docs[b.doc].place))
}
