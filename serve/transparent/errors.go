package transparent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// The JSON-RPC codes that are ours to give; a server's own error keeps its code.
const (
	invalidParams = -32602
	internalError = -32603
	noResource    = -32002

	missingCapability = -32021
)

func wrongParams(format string, args ...any) error {
	return &serve.Fault{Code: invalidParams, Message: fmt.Sprintf(format, args...)}
}

// faultOf is a failed request as a JSON-RPC error: the server's own as it came, or ours with what became of the request.
func faultOf(err error) error {
	if own, ok := errors.AsType[*serve.Fault](err); ok {
		return own
	}
	if theirs, ok := errors.AsType[*dispatch.ServerError](err); ok {
		return &serve.Fault{Code: int(theirs.Code), Message: theirs.Message, Data: rawjson.Member(theirs.Raw, "data")}
	}
	e, ok := errors.AsType[*dispatch.Error](err)
	if !ok {
		return &serve.Fault{Code: internalError, Message: err.Error()}
	}
	f := &serve.Fault{Code: internalError, Message: e.Error()}
	switch e.Code {
	case dispatch.UnknownTool, dispatch.AmbiguousTool, dispatch.InvalidArguments, dispatch.BadRequest, dispatch.NotFound:
		f.Code = invalidParams
	}
	f.Data, _ = json.Marshal(struct { // three plain values always marshal
		Code      dispatch.Code `json:"code"`
		Retryable bool          `json:"retryable"`
		Sent      bool          `json:"sent"`
	}{e.Code, e.Retryable, e.Fate == dispatch.SentUnknown || e.Fate == dispatch.Ran})
	return f
}

// failedCall is a tool call that failed: what is wrong with the request, and the server's own error, are JSON-RPC
// errors; that a tool can't be used now is a result an agent reads.
func failedCall(err error) (dispatch.Pieces, error) {
	e, ok := errors.AsType[*dispatch.Error](err)
	if !ok {
		return nil, faultOf(err)
	}
	if _, theirs := errors.AsType[*dispatch.ServerError](err); theirs || e.Code == dispatch.UnknownTool || e.Code == dispatch.AmbiguousTool {
		return nil, faultOf(err)
	}
	return dispatch.Pieces{[]byte(`{"content":[{"type":"text","text":` + string(rawjson.Quote(e.Error())) + `}],"isError":true}`)}, nil
}

// noSuchResource is the error for a URI that leads to no server; its code changed with the protocol.
func noSuchResource(uri string, meta json.RawMessage) error {
	f := &serve.Fault{Code: noResource, Message: "Resource not found: " + uri, Data: json.RawMessage(`{"uri":` + string(rawjson.Quote(uri)) + `}`)}
	if modern(meta) {
		f.Code = invalidParams
	}
	return f
}

// ofToday gives a server's word for a resource that is not there the code that a modern agent knows.
func ofToday(err error, meta json.RawMessage) error {
	f, ok := errors.AsType[*serve.Fault](faultOf(err))
	if ok && f.Code == noResource && modern(meta) {
		f.Code = invalidParams
	}
	return f
}
