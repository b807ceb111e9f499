package catalog

import (
	"encoding/json"

	"github.com/proxy-dispatch/proxy-dispatch/catalog/clean"
	"github.com/proxy-dispatch/proxy-dispatch/catalog/signature"
)

// Clean is how a name, which an Entry keeps exact, is shown: see clean.Text.
func Clean(s string) string { return clean.Text(s) }

// Visible is how a part that an Entry keeps raw is shown: the same JSON with nothing hidden in it, see clean.JSON.
func Visible(raw json.RawMessage) json.RawMessage { return clean.JSON(raw) }

// Signature returns the parameters in TypeScript style, in one line of at most 4 KiB, "" when there are none: see
// signature.Parameters. It is made at the first call and kept.
func (e *Entry) Signature() string {
	e.signed.Do(func() { e.signature = e.SignatureWithin(signature.MaxLine) })
	return e.signature
}

// SignatureWithin returns the fullest signature of at most max bytes. It is made anew at each call.
func (e *Entry) SignatureWithin(max int) string { return signature.Parameters(e.InputSchema, max) }

// Params returns the top-level parameters, at most 500. They are made anew at each call.
func (e *Entry) Params() []signature.Param { return signature.Params(e.InputSchema) }

// Type returns the full TypeScript type of the arguments with comments, at most 64 KiB: see signature.Type. "" when
// there are no parameters. It is made anew at each call.
func (e *Entry) Type() string {
	if e.InputSchema == nil {
		return ""
	}
	s, err := signature.Type(e.InputSchema, "", signature.MaxType)
	if err != nil {
		return "any /* … */"
	}
	return s
}
