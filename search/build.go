package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/blevesearch/bleve/v2/document"
	index "github.com/blevesearch/bleve_index_api"
)

// builder holds what is needed only while an Index is built. A catalog says
// the same words over and over, so every run, word and term is cut, stemmed
// and kept once.
type builder struct {
	x       *Index
	docs    []Doc
	stems   *stemmer
	runs    map[string]knownRun
	words   map[string]*word
	terms   map[string]*term
	servers map[string]int32 // name → position in x.servers
	doc     int32            // the current document, from 1
	met     []*term          // its terms
	field   []knownRun       // scratch: the runs of the current field
}

// knownRun is a run with its words looked up; whole is nil if nothing cuts it.
type knownRun struct {
	parts []*word
	whole *word
}

// word is a word of the catalog as it is written.
type word struct {
	term *term
	docs int32
	last int32 // the document that said it last
}

// term is what bleve keeps of words with the same stem.
type term struct {
	text string
	docs int32
	ev   evidence // for the current document
}

func newBuilder(x *Index, docs []Doc) *builder {
	return &builder{
		x: x, docs: docs, stems: newStemmerOf(&x.tune),
		runs: map[string]knownRun{}, words: map[string]*word{}, terms: map[string]*term{}, servers: map[string]int32{},
	}
}

// add indexes docs[from:to] as one segment.
func (b *builder) add(from, to int) error {
	batch := b.x.bleve.NewBatch()
	for i := from; i < to; i++ {
		d := &b.docs[i]
		b.x.docs[i] = doc{id: d.ID, name: d.Name, server: b.server(d.Server)}
		bd := document.NewDocument(strconv.Itoa(i))
		bd.AddField(b.gather(d))
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

// gather collects the evidence of every term of d.
func (b *builder) gather(d *Doc) *terms {
	b.doc++
	b.met = b.met[:0]
	t := &b.x.tune
	lead, rest := firstSentence(d.Description)
	b.text(inName, t.name, d.Name)
	b.pairs(d.Name)
	b.text(inTitle, t.title, d.Title)
	b.text(inServer, t.server, d.Server)
	b.text(inLead, t.lead, lead)
	b.text(inRest, t.rest, rest)
	b.text(inKeyword, t.keyword, d.Keywords...)
	b.text(inAbout, t.about, d.About...)
	b.text(inHint, t.hint, d.Hints...)
	b.params(d.Params)
	out := newTerms(termField, len(b.met), 0)
	for _, t := range b.met {
		out.put(t.text, t.ev.pack())
		t.docs++
		t.ev = evidence{}
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
	b.field = b.field[:0]
	length := 0
	for _, s := range texts {
		eachRun(s, func(raw string) {
			r := b.run(raw)
			b.field = append(b.field, r)
			length += len(r.parts)
		})
	}
	if length == 0 {
		return
	}
	each := w.of(length)
	for _, r := range b.field {
		for _, p := range r.parts {
			b.say(field, each, p)
		}
		if r.whole != nil {
			b.say(field, each, r.whole)
		}
	}
}

func (b *builder) run(raw string) knownRun {
	if k, ok := b.runs[raw]; ok {
		return k
	}
	r := cut(raw)
	var k knownRun
	for _, p := range r.parts {
		k.parts = append(k.parts, b.word(p))
	}
	if len(r.parts) > 1 {
		k.whole = b.word(r.whole)
	}
	b.runs[raw] = k
	return k
}

func (b *builder) word(text string) *word {
	w := b.words[text]
	if w == nil {
		stem := b.stems.stem(text)
		t := b.terms[stem]
		if t == nil {
			t = &term{text: stem}
			b.terms[stem] = t
		}
		w = &word{term: t}
		b.words[text] = w
	}
	return w
}

// say counts one word of the current document.
func (b *builder) say(field uint16, weight float32, w *word) {
	if w.last != b.doc {
		w.last = b.doc
		w.docs++
	}
	t := w.term
	if t.ev.mask == 0 {
		b.met = append(b.met, t)
	}
	t.ev.weight += weight
	t.ev.mask |= field
}

// pairs adds each two neighbouring words of a name as one, so that localstorage
// finds local_storage.
func (b *builder) pairs(name string) {
	parts := nameParts(name)
	w := b.x.tune.name.of(len(parts))
	for i := 1; i < len(parts); i++ {
		b.say(inName, w, b.word(parts[i-1]+parts[i]))
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
	b.x.stems = newStemTable(b.terms)
	b.places()
	common := b.boilerplate()
	for i := range b.docs {
		d := &b.x.docs[i]
		for _, part := range distinct(nameParts(d.name)) {
			w := b.x.idf(int(b.word(part).term.docs))
			if common[d.server][part] {
				w *= b.x.tune.boilerplate
			}
			d.nameSum += w
		}
	}
}

// places sorts the documents by id.
func (b *builder) places() {
	order := make([]int32, len(b.x.docs))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { return strings.Compare(b.x.docs[i].id, b.x.docs[j].id) })
	for place, i := range order {
		b.x.docs[i].place = int32(place)
	}
	b.x.order = order
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
		for _, part := range distinct(nameParts(d.name)) {
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

// distinct drops repeated words and keeps the order, on which sums depend.
func distinct(words []string) []string {
	var out []string
	for _, w := range words {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
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
