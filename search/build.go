package search

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
)

// builder holds what is needed only while an Index is built.
type builder struct {
	x       *Index
	docs    []Doc
	stems   *stemmer
	df      map[string]int32 // term → documents
	words   map[string]int32 // unstemmed word → documents
	servers map[string]int32 // name → position in x.servers
	ev      map[string]evidence
	met     map[string]bool // words of the current document
}

func newBuilder(x *Index, docs []Doc) *builder {
	return &builder{
		x: x, docs: docs, stems: newStemmer(),
		df: map[string]int32{}, words: map[string]int32{}, servers: map[string]int32{},
		ev: map[string]evidence{}, met: map[string]bool{},
	}
}

// add indexes docs[from:to] as one segment.
func (b *builder) add(from, to int) error {
	batch := b.x.bleve.NewBatch()
	for i := from; i < to; i++ {
		d := &b.docs[i]
		b.x.docs[i] = doc{id: d.ID, name: d.Name, server: b.server(d.Server)}
		bd := document.NewDocument(strconv.Itoa(i))
		bd.AddField(b.terms(d))
		bd.AddField(names(d))
		if err := batch.IndexAdvanced(bd); err != nil {
			return fmt.Errorf("index %s: %w", d.ID, err)
		}
	}
	if err := b.x.bleve.Batch(batch); err != nil {
		return fmt.Errorf("index documents: %w", err)
	}
	return nil
}

func (b *builder) server(name string) int32 {
	n, ok := b.servers[name]
	if !ok {
		n = int32(len(b.x.servers))
		b.servers[name] = n
		b.x.servers = append(b.x.servers, server{name, serverWords(name)})
	}
	return n
}

// serverWords are the words that name a server in a question; "mcp" and
// "server" alone name none.
func serverWords(name string) []string {
	var all, own []string
	for _, r := range split(name) {
		all = append(all, r.whole)
		if r.whole != "mcp" && r.whole != "server" {
			own = append(own, r.whole)
		}
	}
	if len(own) == 0 {
		return all
	}
	return own
}

// terms gathers the evidence of every term of d.
func (b *builder) terms(d *Doc) *terms {
	clear(b.ev)
	clear(b.met)
	t := &b.x.tune
	lead, rest := firstSentence(d.Description)
	b.text(inName, t.name, d.Name)
	b.pairs(d.Name)
	b.text(inTitle, t.title, d.Title)
	b.text(inServer, t.server, d.Server)
	b.text(inLead, t.lead, lead)
	b.text(inRest, t.rest, rest)
	b.text(inKeyword, t.keyword, d.Keywords...)
	b.text(inHint, t.hint, d.Hints...)
	b.params(d.Params)
	out := newTerms(termField, len(b.ev), 0)
	for term, e := range b.ev {
		out.put(term, e.pack())
		b.df[term]++
	}
	for w := range b.met {
		b.words[w]++
	}
	return out
}

func (b *builder) params(params []Param) {
	t := &b.x.tune
	var names, texts, enums []string
	for _, p := range params {
		names, texts, enums = append(names, p.Name), append(texts, p.Description), append(enums, p.Enum...)
	}
	b.text(inParam, t.param, names...)
	b.text(inParamText, t.paramText, texts...)
	b.text(inEnum, t.enum, enums...)
}

// text adds the words of one field. A run that is cut counts as its parts and
// as a whole, but only the parts make the field longer.
func (b *builder) text(field uint16, w weight, texts ...string) {
	var runs []run
	length := 0
	for _, s := range texts {
		for _, r := range split(s) {
			runs = append(runs, r)
			length += len(r.parts)
		}
	}
	if length == 0 {
		return
	}
	each := w.of(length)
	for _, r := range runs {
		for _, p := range r.parts {
			b.word(field, each, p)
		}
		if len(r.parts) > 1 {
			b.word(field, each, r.whole)
		}
	}
}

func (b *builder) word(field uint16, w float32, word string) {
	b.met[word] = true
	term := b.stems.stem(word)
	e := b.ev[term]
	b.ev[term] = evidence{e.weight + w, e.mask | field}
}

// pairs adds each two neighbouring words of a name as one, so that localstorage
// finds local_storage.
func (b *builder) pairs(name string) {
	parts := nameParts(name)
	w := b.x.tune.name.of(len(parts))
	for i := 1; i < len(parts); i++ {
		b.word(inName, w, parts[i-1]+parts[i])
	}
}

func nameParts(name string) []string {
	var parts []string
	for _, r := range split(name) {
		parts = append(parts, r.parts...)
	}
	return parts
}

// names holds the forms under which a document is asked for exactly.
func names(d *Doc) *terms {
	t := newTerms(exactField, 2, index.SkipFreqNorm)
	n := normal(d.Name)
	if n == "" {
		n = d.Name
	}
	if n != "" {
		t.put(n, 1)
		t.put(normal(d.Server)+n, 1)
	}
	return t
}

// finish derives what needs the whole catalog: the vocabulary, and what the
// words of each name weigh.
func (b *builder) finish() {
	b.x.vocab = newVocabulary(b.words)
	common := b.boilerplate()
	for i := range b.docs {
		d := &b.x.docs[i]
		for part := range distinct(nameParts(d.name)) {
			term := b.stems.stem(part)
			w := b.x.idf(int(b.df[term]))
			if common[d.server][part] {
				w *= b.x.tune.boilerplate
			}
			d.nameSum += w
		}
	}
}

// boilerplate finds, for each server, the words of its own name and those in
// most of its tools' names: they tell its tools apart from nothing.
func (b *builder) boilerplate() []map[string]bool {
	counts := make([]map[string]int, len(b.x.servers))
	tools := make([]int, len(b.x.servers))
	for i := range b.x.docs {
		d := &b.x.docs[i]
		if counts[d.server] == nil {
			counts[d.server] = map[string]int{}
		}
		tools[d.server]++
		for part := range distinct(nameParts(d.name)) {
			counts[d.server][part]++
		}
	}
	common := make([]map[string]bool, len(counts))
	for s := range counts {
		common[s] = map[string]bool{}
		for _, w := range b.x.servers[s].words {
			common[s][w] = true
		}
		for w, n := range counts[s] {
			if n >= 4 && n*10 >= tools[s]*7 {
				common[s][w] = true
			}
		}
	}
	return common
}

func distinct(words []string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// firstSentence cuts a description after its first sentence or line.
func firstSentence(text string) (first, rest string) {
	text = strings.TrimSpace(text)
	for i, r := range text {
		switch r {
		case '\n', '。', '！', '？':
			return text[:i], text[i:]
		case '.', '!', '?':
			if i > 15 && i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\n' || text[i+1] == '\t') {
				return text[:i], text[i+1:]
			}
		}
	}
	return text, ""
}
