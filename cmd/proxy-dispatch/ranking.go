package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gobwas/glob"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/search"
	"github.com/proxy-dispatch/proxy-dispatch/search/embeddings"
	"github.com/proxy-dispatch/proxy-dispatch/search/lexicon"
)

// maxLexicon bounds the file of own concepts.
const maxLexicon = 8 << 20

// rankingOf gives the search options of a configuration. Vectors are kept below cache; "" keeps none.
func rankingOf(cfg *config.Config, cache string) (search.Options, error) {
	var o search.Options
	if file := cfg.Search.Lexicon; file != "" {
		own, err := readLexicon(file)
		if err != nil {
			return o, fmt.Errorf("search.lexicon: %w", err)
		}
		o.Lexicon = search.NewLexicon(own...)
	}
	if e := cfg.Search.Embeddings; e.URL != "" {
		eo := embeddings.Options{URL: e.URL, Model: e.Model, APIKey: e.APIKey, Dimensions: e.Dimensions}
		if cache != "" {
			eo.Dir = filepath.Join(cache, "embeddings")
		}
		client, err := embeddings.New(eo)
		if err != nil {
			return o, fmt.Errorf("search.%w", err)
		}
		o.Meaning = client
	}
	return o, nil
}

func readLexicon(file string) ([]lexicon.Entry, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	own, err := lexicon.Parse(io.LimitReader(f, maxLexicon))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return own, nil
}

// toolKeywords finds the hidden words of single tools.
func toolKeywords(cfg *config.Config) func(server, tool string) []string {
	type rule struct {
		tools    *glob.Pattern
		keywords []string
	}
	rules := map[string][]rule{}
	for _, s := range cfg.Servers {
		for _, k := range s.OfTools {
			if g, err := glob.Compile(k.Tools); err == nil { // the configuration has checked it
				rules[s.Name] = append(rules[s.Name], rule{g, k.Keywords})
			}
		}
	}
	return func(server, tool string) []string {
		var words []string
		for _, r := range rules[server] {
			if r.tools.Match(tool) {
				words = append(words, r.keywords...)
			}
		}
		return words
	}
}
