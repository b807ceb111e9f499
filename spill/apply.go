package spill

import (
	"context"
	"encoding/json"
)

// Apply is Extract for JSON in memory: what path and jq leave of data, which stays the caller's. It takes
// no form; Want.As is not looked at.
func (s *Shelf) Apply(ctx context.Context, data json.RawMessage, w Want) (json.RawMessage, error) {
	v := foundView(data)
	var err error
	if w.Path != "" {
		if v, err = narrowed(v, w.Path); err != nil {
			return nil, err
		}
	}
	if w.JQ != "" {
		if v, err = s.computed(ctx, v, w.JQ); err != nil {
			return nil, err
		}
	}
	found, err := v.all(maxValue)
	if err != nil {
		return nil, err
	}
	return v.value(found)
}
