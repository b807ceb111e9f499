package spill

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill/tabular"
)

// Forms are what Want.As may ask for, beside "": JSON as it is.
var Forms = []string{"json", "text", "csv", "toon", "base64", "dataUri", "path"}

// formed returns what is wanted of a view in the form it is wanted in, as a JSON value.
func (s *Shelf) formed(ctx context.Context, v *view, items []Item, w Want) (json.RawMessage, error) {
	if !slices.Contains(Forms, w.As) {
		return nil, fmt.Errorf("%w: as: %.20q is none of %v", ErrBadQuery, w.As, Forms)
	}
	if w.As == "path" {
		return s.pathOf(ctx, v, items, w)
	}
	data, err := v.all(maxValue)
	if err != nil {
		return nil, err
	}
	switch w.As {
	case "csv", "toon":
		if !v.JSON {
			return nil, fmt.Errorf("%w: as: %s is made of JSON, the data is %s", ErrBadQuery, w.As, v.MimeType)
		}
		text, _, err := tabular.Write(data, w.As)
		if err != nil {
			return nil, err
		}
		return quoted(text)
	case "base64", "dataUri":
		mime := v.MimeType
		if v.JSON {
			if data = rawjson.Compact(data); data[0] == '"' {
				data, mime = rawjson.Text(data), "text/plain"
			}
		}
		out := []byte{'"'}
		if w.As == "dataUri" {
			out = append(appendText(append(out, "data:"...), mime), ";base64,"...)
		}
		return append(base64.StdEncoding.AppendEncode(out, data), '"'), nil
	}
	return v.value(data)
}

// appendText is rawjson.AppendQuote without the quotes.
func appendText(out []byte, s string) []byte {
	quoted := rawjson.AppendQuote(nil, s)
	return append(out, quoted[1:len(quoted)-1]...)
}

// pathOf names a file that holds what is wanted: of a whole part its own, else a new one.
func (s *Shelf) pathOf(ctx context.Context, v *view, items []Item, w Want) (json.RawMessage, error) {
	if a := items[0].Artifact; len(items) == 1 && w.Path == "" && w.JQ == "" {
		switch {
		case a.foreign != nil:
			return rawjson.AppendQuote(nil, a.Path), nil
		case s.local != nil:
			return rawjson.AppendQuote(nil, s.local.Path(v.Name)), nil
		}
	}
	if s.local == nil {
		return nil, fmt.Errorf("%w: as: the results are not in a local folder; use base64 or no form", ErrBadQuery)
	}
	data, err := v.all(maxValue)
	if err != nil {
		return nil, err
	}
	if v.JSON && data[0] == '"' {
		data = rawjson.Text(data)
	}
	var owner Owner
	if e := items[0].Artifact.entry; e != nil {
		owner = e.Owner
	}
	kept, err := s.PutData(ctx, owner, SourcesOf(items), data)
	if err != nil {
		return nil, err
	}
	return rawjson.AppendQuote(nil, kept.Path), nil
}
