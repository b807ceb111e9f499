package search

import "math"

// weight of a field: what a word in it counts, for a text of pivot words;
// slope says how much longer texts count less for each word.
type weight struct{ base, pivot, slope float32 }

// of gives the weight of one word in a text of length words. The pivots are
// fixed, not averages of the catalog, so that a document's evidence does not
// depend on its neighbours.
func (w weight) of(length int) float32 {
	return w.base / (1 - w.slope + w.slope*float32(length)/w.pivot)
}

// tuning holds every number of the ranking.
type tuning struct {
	name, title, keyword, server, lead, rest, param, paramText, enum, hint, about weight

	saturation  float32 // evidence at which a word counts half
	weak        float32 // share of coverage of a word found in no strong field
	coverage    float32 // share of the score that depends on coverage
	nameShare   float32 // what a wholly matched name adds
	boilerplate float32 // share of a name's words common to its server
	serverNamed float32 // factor for the tools of a server the query names
	faint       float32 // weight of a faint word in a query
	number      float32 // weight of a bare number in a query
	joined      float32 // weight of two words found written as one
	prefix      float32 // weight of a word that goes on after the query's
	knownPrefix float32 // the same, if the catalog has the query's word as well
	typo        [3]float32
	pair        float32    // weight of two neighbouring words that names hold side by side
	hinted      float32    // weight of a word for a parameter that takes a value of the query
	value       float32    // weight of a word that is a value for an argument
	synonym     [2]float32 // weight of a concept's head, and of its other words
	known       [2]float32 // the same where the catalog has the query's word itself
	perWord     float32    // how much less synonyms count for each word of a query beyond the fourth
	translation [2]float32 // the same from another language
	sure        float32    // coverage from which a result is confident
	surePerWord float32    // how much less a long query needs
	sureName    float32    // weight of a name that is confident when said whole, in rarest words

	noSynonyms, noLanguages, noStops, noStems, noTypos, noPrefixes, noPairs, noValues, noIntents bool // parts left out
}

func defaults() tuning {
	return tuning{
		name:      weight{5, 3, .3},
		title:     weight{3, 3, .3},
		keyword:   weight{4, 4, .2},
		server:    weight{1.2, 1, 0},
		lead:      weight{3.5, 12, .4},
		rest:      weight{1, 40, .6},
		param:     weight{1.6, 5, .3},
		paramText: weight{.7, 40, .6},
		enum:      weight{1.3, 8, .6},
		hint:      weight{.5, 1, 0},
		about:     weight{.8, 10, .4},

		saturation:  1.6,
		weak:        .7,
		coverage:    .6,
		nameShare:   .3,
		boilerplate: .3,
		serverNamed: 1.2,
		faint:       .2,
		number:      .15,
		joined:      .95,
		prefix:      .7,
		knownPrefix: .35,
		typo:        [3]float32{1, .8, .6},
		pair:        .25,
		hinted:      .5,
		value:       .3,
		synonym:     [2]float32{.7, .6},
		known:       [2]float32{.6, .4},
		perWord:     .1,
		translation: [2]float32{.96, .6},
		sure:        .45,
		surePerWord: .05,
		sureName:    1.5,
	}
}

// idf of a word that n documents hold: rare words weigh more.
func (x *Index) idf(n int) float32 {
	all := float64(len(x.docs))
	return float32(math.Log(1 + (all-float64(n)+.5)/(float64(n)+.5)))
}
