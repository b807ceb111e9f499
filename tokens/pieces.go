package tokens

import (
	"unicode"
	"unicode/utf8"
)

// Before merging, an encoding cuts a text into pieces. The rules are published as regular expressions
// with a look-ahead, which Go's regexp does not know and which a backtracking engine runs at a few MB/s;
// they are few and regular enough to be written out.

// An encoding is a file of tokens with the rule of its pieces.
type encoding struct {
	file string
	next func(text []byte) int // length of the first piece of a text that is not empty
}

var encodings = map[string]encoding{
	"o200k_base":  {"o200k_base.tiktoken", nextO200k},
	"cl100k_base": {"cl100k_base.tiktoken", nextCl100k},
	"p50k_base":   {"p50k_base.tiktoken", nextR50k},
	"p50k_edit":   {"p50k_base.tiktoken", nextR50k},
	"r50k_base":   {"r50k_base.tiktoken", nextR50k},
}

// class is a set of the properties the rules ask for.
type class uint8

const (
	upper  class = 1 << iota // begins a word: Lu Lt Lm Lo M
	lower                    // goes on in a word: Ll Lm Lo M
	letter                   // L
	digit                    // N
	space                    // white space
	feed                     // \r and \n
	none   class = 0
)

var ascii = func() (table [utf8.RuneSelf]class) {
	for c := range table {
		table[c] = classify(rune(c))
	}
	return table
}()

func classify(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return space | feed
	case unicode.IsSpace(r):
		return space
	case unicode.Is(unicode.Ll, r):
		return letter | lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return letter | upper
	case unicode.IsLetter(r):
		return letter | upper | lower
	case unicode.IsMark(r):
		return upper | lower
	case unicode.IsNumber(r):
		return digit
	}
	return none
}

// at returns the class and length of the character at offset i; no class and 0 at the end.
func at(text []byte, i int) (class, int) {
	if i >= len(text) {
		return none, 0
	}
	if c := text[i]; c < utf8.RuneSelf {
		return ascii[c], 1
	}
	r, size := utf8.DecodeRune(text[i:])
	return classify(r), size
}

// run returns the end of the run of characters from i on that have a property of want; at most limit
// characters if that is not 0.
func run(text []byte, i int, want class, limit int) int {
	for n := 0; limit == 0 || n < limit; n++ {
		c, size := at(text, i)
		if c&want == 0 || size == 0 {
			break
		}
		i += size
	}
	return i
}

// other returns the end of the run of characters that are neither space, letter nor number.
func other(text []byte, i int) int {
	for {
		c, size := at(text, i)
		if size == 0 || c&(space|letter|digit) != 0 {
			return i
		}
		i += size
	}
}

// white is the end of a piece of white space at the start of text: with feeds to cut behind the last
// line break; else one character is left for the word that follows.
func white(text []byte, feeds bool) int {
	end, lastFeed, last := 0, 0, 0
	for {
		c, size := at(text, end)
		if c&space == 0 || size == 0 {
			break
		}
		last = end
		end += size
		if c&feed != 0 {
			lastFeed = end
		}
	}
	switch {
	case feeds && lastFeed > 0:
		return lastFeed
	case end < len(text) && last > 0:
		return last
	}
	return end
}

// contraction returns the length of an English ending ('s, 'll) at i, 0 if there is none.
func contraction(text []byte, i int, fold bool) int {
	if i+1 >= len(text) || text[i] != '\'' {
		return 0
	}
	small := func(k int) byte {
		if k >= len(text) {
			return 0
		}
		c := text[k]
		if fold && 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}
	switch first, second := small(i+1), small(i+2); {
	case first == 's' || first == 't' || first == 'm' || first == 'd':
		return 2
	case first == 'r' && second == 'e', first == 'v' && second == 'e', first == 'l' && second == 'l':
		return 3
	}
	return 0
}

func nextO200k(text []byte) int {
	c, size := at(text, 0)
	prefix := 0
	if c&(feed|letter|digit) == 0 {
		prefix = size
	}
	if end := wordEither(text, prefix, wordLower); end > 0 {
		return end + contraction(text, end, true)
	}
	if end := wordEither(text, prefix, wordUpper); end > 0 {
		return end + contraction(text, end, true)
	}
	if c&digit != 0 {
		return run(text, 0, digit, 3)
	}
	if end := signs(text); end > 0 {
		for end < len(text) && (text[end] == '\r' || text[end] == '\n' || text[end] == '/') {
			end++
		}
		return end
	}
	return white(text, true)
}

// wordEither tries a word behind the prefix character, then one that begins with it (a mark may be both).
func wordEither(text []byte, prefix int, word func([]byte, int) int) int {
	if prefix > 0 {
		if end := word(text, prefix); end > 0 {
			return end
		}
	}
	return word(text, 0)
}

// wordLower is capitals as far as they go, then small letters, of which there must be one: if none
// follows, the last of the characters that pass for both is it.
func wordLower(text []byte, i int) int {
	end, both := i, 0
	for {
		c, size := at(text, end)
		if c&upper == 0 || size == 0 {
			break
		}
		end += size
		if c&lower != 0 {
			both = end
		}
	}
	if more := run(text, end, lower, 0); more > end {
		return more
	}
	return both
}

// wordUpper is one capital at least, then small letters as far as they go.
func wordUpper(text []byte, i int) int {
	end := run(text, i, upper, 0)
	if end == i {
		return 0
	}
	return run(text, end, lower, 0)
}

// signs is the end of a run of signs, a space before it allowed; 0 if there is none.
func signs(text []byte) int {
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	if end := other(text, start); end > start {
		return end
	}
	return 0
}

func nextCl100k(text []byte) int {
	if n := contraction(text, 0, true); n > 0 {
		return n
	}
	c, size := at(text, 0)
	start := 0
	if c&(feed|letter|digit) == 0 {
		start = size
	}
	if end := run(text, start, letter, 0); end > start {
		return end
	}
	if c&digit != 0 {
		return run(text, 0, digit, 3)
	}
	if end := signs(text); end > 0 {
		for end < len(text) && (text[end] == '\r' || text[end] == '\n') {
			end++
		}
		return end
	}
	return white(text, true)
}

func nextR50k(text []byte) int {
	if n := contraction(text, 0, false); n > 0 {
		return n
	}
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	for _, kind := range []class{letter, digit} {
		if end := run(text, start, kind, 0); end > start {
			return end
		}
	}
	if end := signs(text); end > 0 {
		return end
	}
	return white(text, false)
}
