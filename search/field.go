package search

import (
	index "github.com/blevesearch/bleve_index_api"
)

// The fields of a Doc, as bits of a mask. Their order is that of Hit.Fields.
const (
	inName uint16 = 1 << iota
	inTitle
	inKeyword
	inServer
	inLead // the description's first sentence
	inRest // the rest of it
	inParam
	inParamText
	inEnum
	inHint
	inAbout

	fieldBits = 11
	fieldMask = 1<<fieldBits - 1
)

// strong are the fields that name things; a word found only elsewhere says
// less about what a tool is for.
const strong = inName | inTitle | inKeyword | inServer | inLead | inParam

func fieldNames(mask uint16) []string {
	var names []string
	add := func(bits uint16, name string) {
		if mask&bits != 0 {
			names = append(names, name)
		}
	}
	add(inName, "name")
	add(inTitle, "title")
	add(inKeyword|inAbout, "keyword")
	add(inServer, "server")
	add(inLead|inRest, "description")
	add(inParam, "parameter")
	add(inParamText, "parameterDescription")
	add(inEnum, "enum")
	add(inHint, "hint")
	return names
}

// evidence of one term for one document, packed into a bleve frequency.
type evidence struct {
	weight float32
	mask   uint16
	rounds uint16 // while terms are looked up together: how many were there
}

const weightUnit = 256 // one unit of weight in a packed frequency

func (e evidence) pack() int {
	w := min(int(e.weight*weightUnit+.5), 1<<16-1)
	return max(w, 1)<<fieldBits | int(e.mask)
}

func unpack(freq uint64) evidence {
	return evidence{weight: float32(freq>>fieldBits) / weightUnit, mask: uint16(freq & fieldMask)}
}

// terms is a field that comes to bleve with its terms already counted.
type terms struct {
	name  string
	freqs index.TokenFrequencies
	slab  []index.TokenFreq // one allocation for all of them
	opts  index.FieldIndexingOptions
}

func (t *terms) Name() string                                     { return t.name }
func (t *terms) ArrayPositions() []uint64                         { return nil }
func (t *terms) Options() index.FieldIndexingOptions              { return t.opts }
func (t *terms) Analyze()                                         {}
func (t *terms) Value() []byte                                    { return nil }
func (t *terms) NumPlainTextBytes() uint64                        { return 0 }
func (t *terms) Size() int                                        { return len(t.freqs) }
func (t *terms) EncodedFieldType() byte                           { return 't' }
func (t *terms) AnalyzedLength() int                              { return 1 }
func (t *terms) AnalyzedTokenFrequencies() index.TokenFrequencies { return t.freqs }

func newTerms(name string, size int, opts index.FieldIndexingOptions) *terms {
	return &terms{name: name, freqs: make(index.TokenFrequencies, size), slab: make([]index.TokenFreq, size), opts: opts | index.IndexField}
}

// put adds a term; there must be no more of them than newTerms was told.
func (t *terms) put(term string, freq int) {
	tf := &t.slab[len(t.freqs)]
	tf.Term = []byte(term)
	tf.SetFrequency(freq)
	t.freqs[term] = tf
}
