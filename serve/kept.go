package serve

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// KeptReader reads kept results by their URI; *dispatch.Dispatcher is one.
type KeptReader interface {
	// ReadResource returns a resources/read result for spill://ID?op=…; its errors are *dispatch.Error.
	ReadResource(ctx context.Context, a dispatch.Agent, uri string) (json.RawMessage, error)
}

// KeptCapabilities are those of a face that answers with HandleKept.
var KeptCapabilities = json.RawMessage(`{"resources":{}}`)

// OneToolCapabilities are those of a face of one tool: kept results, and what called servers log.
var OneToolCapabilities = json.RawMessage(`{"logging":{},"resources":{}}`)

// HandleKept is a Face.Handle whose only resources are kept results: one template, and reading by it. They are in no
// list, as each is for those who know its name. Other methods are ErrNoMethod.
func HandleKept(ctx context.Context, d KeptReader, r Request) (dispatch.Pieces, error) {
	switch r.Method {
	case "resources/list":
		return dispatch.Pieces{[]byte(`{"resources":[]}`)}, nil
	case "resources/templates/list":
		return dispatch.Pieces{[]byte(`{"resourceTemplates":[`), dispatch.KeptTemplate(), []byte(`]}`)}, nil
	case "resources/read":
		raw, err := d.ReadResource(ctx, r.Agent, rawjson.Unquote(rawjson.Member(r.Params, "uri")))
		if err != nil {
			return nil, keptFault(err)
		}
		return dispatch.Pieces{raw}, nil
	}
	return nil, ErrNoMethod
}

// keptFault is the protocol's error for a kept result that could not be read.
func keptFault(err error) *Fault {
	const notFound, badParams, internal = -32002, -32602, -32603
	f := &Fault{Code: internal, Message: err.Error()}
	if e, ok := errors.AsType[*dispatch.Error](err); ok {
		switch e.Code {
		case dispatch.NotFound, dispatch.Expired, dispatch.Denied:
			f.Code = notFound
		case dispatch.BadRequest, dispatch.InvalidArguments, dispatch.TooLarge:
			f.Code = badParams
		}
	}
	return f
}
