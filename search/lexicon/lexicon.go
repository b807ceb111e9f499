// Package lexicon holds which words of software and office work mean the same, in several languages, as data.
//
// concepts.txt has one concept a line, `head: word, word, several words`; its words are English and stand for
// each other. A file of a language, such as de.txt, gives the words for the concept of a head in that language.
// stopwords.txt has for each language the words that say nothing.
package lexicon

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed *.txt
var files embed.FS

// Files that are no language.
const (
	conceptsFile = "concepts.txt"
	stopsFile    = "stopwords.txt"
)

// Limits of a file of concepts, which a user may write.
const (
	maxLine    = 64 << 10
	maxEntries = 20_000
	maxWord    = 100 // bytes of one expression
)

// Entry is one concept: what its head stands for may be said with any of the words. A word may be several
// words, with spaces between them.
type Entry struct {
	Head  string
	Words []string
}

// Concepts are the concepts in English. They are read anew at each call.
func Concepts() ([]Entry, error) { return embedded(conceptsFile) }

// Language gives the words of a language, by its two-letter code, for the heads of Concepts; none for a language that
// is not in Languages. They are read anew at each call.
func Language(code string) ([]Entry, error) {
	if !slices.Contains(Languages(), code) {
		return nil, nil
	}
	return embedded(code + ".txt")
}

// Languages are the codes of the languages there are, sorted; English is none of them.
var Languages = sync.OnceValue(func() []string {
	var codes []string
	names, _ := fs.Glob(files, "??.txt") // the pattern is good
	for _, n := range names {
		codes = append(codes, strings.TrimSuffix(n, ".txt"))
	}
	return codes
})

// StopWords are the words of a language that say nothing about what is wanted.
func StopWords(code string) ([]string, error) {
	entries, err := embedded(stopsFile)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Head == code {
			return e.Words, nil
		}
	}
	return nil, nil
}

func embedded(name string) ([]Entry, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("open lexicon: %w", err)
	}
	entries, err := Parse(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return entries, nil
}

// Parse reads concepts as lines `head: word, word`; # begins a comment line. A head may come more than once. The
// error names the line.
func Parse(r io.Reader) ([]Entry, error) {
	var all []Entry
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(s.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("read lexicon: line %d: %w", n, err)
		}
		if len(all) == maxEntries {
			return nil, fmt.Errorf("read lexicon: more than %d concepts", maxEntries)
		}
		all = append(all, e)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read lexicon: %w", err)
	}
	return all, nil
}

func parseLine(line string) (Entry, error) {
	if !utf8.ValidString(line) {
		return Entry{}, fmt.Errorf("not UTF-8 text")
	}
	head, words, ok := strings.Cut(line, ":")
	head = oneSpace(head)
	if !ok || head == "" {
		return Entry{}, fmt.Errorf("want `head: word, word`, not %q", clip(line))
	}
	e := Entry{Head: head}
	for w := range strings.SplitSeq(words, ",") {
		w = oneSpace(w)
		if len(w) > maxWord {
			return Entry{}, fmt.Errorf("a word is longer than %d bytes: %q", maxWord, clip(w))
		}
		if w != "" {
			e.Words = append(e.Words, w)
		}
	}
	if len(e.Words) == 0 {
		return Entry{}, fmt.Errorf("%q has no words", clip(head))
	}
	return e, nil
}

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}
