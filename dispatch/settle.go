package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// inlineMedia is the most images and audio blocks of one answer.
const inlineMedia = 4

// mediaTokens is about what hosts charge for an image.
const mediaTokens = 1500

// errorHead is how much of a spilled error message stays inline, in bytes.
const errorHead = 2000

// settle brings a performed call to the size an agent gets: the result itself, what was asked of it,
// or a report of where it is kept. limit is in bytes, -1 for none.
func (d *Dispatcher) settle(ctx context.Context, a Agent, c *performed, limit int64) (*CallAnswer, error) {
	if c.asks != nil {
		out := c.answer(d.o.Tokens.Count)
		out.asks = c.asks
		return out, nil
	}
	if c.res == nil {
		return d.dryAnswer(c), nil
	}
	switch {
	case c.request.Read != nil:
		return d.project(ctx, a, c)
	case c.request.ToFile, c.spillAnyway, d.overLimit(a, c.res, limit):
		return d.spillResult(ctx, a, c, limit)
	}
	d.notice(a, c)
	out := c.answer(d.o.Tokens.Count)
	out.inline, out.Prompt = c.res, c.prompt
	out.StructuredContent = c.res.structured
	for _, b := range c.res.blocks {
		out.Content = append(out.Content, b.raw)
	}
	return out, nil
}

// answer is what is the same in every form of a call's answer.
func (c *performed) answer(count func(string) int) *CallAnswer {
	out := &CallAnswer{Action: "call", Connection: c.entry.Server, Alias: c.alias, Tool: c.entry.Name, Arguments: c.args,
		Repairs: c.notes, Content: []json.RawMessage{}, Note: c.note, given: c.given}
	if f := c.request.ArgumentsFile; f != "" {
		out.Arguments = arguments.Object{{Key: "_fromFile", Value: mustJSON(f)}}.Raw()
	}
	if c.res != nil {
		out.IsError, out.ByteSize, out.EstimatedTokens = c.res.isError, c.res.size(), c.res.tokens(count)
	}
	return out
}

func (d *Dispatcher) dryAnswer(c *performed) *CallAnswer {
	out := c.answer(d.o.Tokens.Count)
	out.DryRun = true
	text := fmt.Sprintf("dry run, nothing was called. %s would get: %s", c.entry.Server, clip(string(c.sent), 4000))
	out.Content = []json.RawMessage{textBlock(withRepairs(c.notes, text))}
	return out
}

// overLimit reports whether a result is too large to be passed on whole.
func (d *Dispatcher) overLimit(a Agent, r *result, limit int64) bool {
	if limit < 0 {
		return false
	}
	if _, n := clientLimits(a.Client); n > 0 && r.lines() > n {
		return true
	}
	return r.size() > limit || d.mediaOver(r)
}

// mediaOver reports whether a result has more or larger images and audio than stay inline.
func (d *Dispatcher) mediaOver(r *result) bool { return len(d.inlineMediaOf(r)) < r.media() }

// inlineMediaOf returns the images and audio that stay inline.
func (d *Dispatcher) inlineMediaOf(r *result) []json.RawMessage {
	var out []json.RawMessage
	for _, b := range r.blocks {
		if b.isMedia() && b.size <= d.o.MediaThreshold && len(out) < inlineMedia {
			out = append(out, b.raw)
		}
	}
	return out
}

// spillResult keeps the whole result in the store and answers with a report.
func (d *Dispatcher) spillResult(ctx context.Context, a Agent, c *performed, limit int64) (*CallAnswer, error) {
	out := c.answer(d.o.Tokens.Count)
	art, err := d.keep(ctx, a, c)
	if err != nil {
		return d.unkept(c, out, err), nil
	}
	out.Handle, out.ResultFile, out.AutoSpilled, out.Parts = art.Handle, fileOf(art), !c.request.ToFile, art.Parts
	out.EstimatedTokens = art.Tokens
	if c.res.isError {
		out.Content = append(out.Content, textBlock(c.res.message(errorHead)))
	} else if !c.request.ToFile && !c.spillAnyway && c.res.size() <= limit { // only images or audio are too large: the words stay
		out.Content = append(out.Content, c.res.texts()...)
	}
	extra := spill.ReportExtra{Repairs: c.notes, Reader: c.request.Reader}
	if c.reportRoom > 0 {
		const perToken = 3 // bytes, in reports
		extra.Beside = max(spill.MaxReport-int(c.reportRoom/perToken), 0)
	}
	out.Content = append(out.Content, d.reportBlocks(a, art, extra)...)
	out.Content = append(out.Content, d.inlineMediaOf(c.res)...)
	return out, nil
}

// keep stores the whole result, once.
func (d *Dispatcher) keep(ctx context.Context, a Agent, c *performed) (*spill.Artifact, error) {
	if c.kept != nil {
		return c.kept, nil
	}
	art, err := d.o.Shelf.Put(ctx, owner(a), c.from(), c.res.raw, c.res.longest())
	if err != nil {
		return nil, err
	}
	c.kept = art
	if !c.res.isError && art.Shape != "" {
		d.remember(shapeKey{a.View, c.entry.Ref}, art.Shape)
	}
	return art, nil
}

// maxRemembered bounds how many tools' result shapes are remembered.
const maxRemembered = 2000

// shapeKey is whose results have a shape: those of a tool, as one view gives them.
type shapeKey struct {
	view string
	ref  catalog.Ref
}

// remember notes the shape of a tool's result for describe.
func (d *Dispatcher) remember(ref shapeKey, shape string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.results[ref]; known || len(d.results) < maxRemembered {
		d.results[ref] = shape
	}
}

// unkept answers a call that ran but whose result could not be kept: nothing of it is hidden, its head
// is shown.
func (d *Dispatcher) unkept(c *performed, out *CallAnswer, err error) *CallAnswer {
	e := &Error{Code: Internal, Message: fmt.Sprintf("the call has run, but its result of %d bytes could not be kept: %v", out.ByteSize, err),
		Do: "Its head follows. Ask for less, or raise resultSizeThreshold", Repairs: c.notes, Err: err}
	if errors.Is(err, spill.ErrNoSpace) || errors.Is(err, spill.ErrTooLarge) {
		e.Code = TooLarge
	}
	d.o.Log.Warn("keep a result", "tool", c.entry.Ref.String(), "error", err)
	out.IsError = true
	out.Content = append(out.Content, textBlock(e.Error()), textBlock(c.res.message(errorHead)))
	return out
}

// project shows what was asked of a result, which is kept whole.
func (d *Dispatcher) project(ctx context.Context, a Agent, c *performed) (*CallAnswer, error) {
	out := c.answer(d.o.Tokens.Count)
	art, err := d.keep(ctx, a, c)
	if err != nil {
		return d.unkept(c, out, err), nil
	}
	out.Handle, out.ResultFile, out.Parts = art.Handle, fileOf(art), art.Parts
	head := fmt.Sprintf("%s: %d bytes, %d lines, ~%d tokens", art.Handle, art.Bytes, art.Lines, art.Tokens)
	read, err := d.read(ctx, a, []spill.Item{{Artifact: art}}, *c.request.Read)
	if err != nil {
		e := *asError(shelfError(art.Handle, err))
		if c.res.isError { // what was asked is of a result, not of this
			text := fmt.Sprintf("Nothing was read from it; it is kept as %s.", art.Handle)
			out.Content = append(out.Content, textBlock(withRepairs(c.notes, c.res.message(errorHead)+"\n"+text)))
			return out, nil
		}
		e.Message += fmt.Sprintf(". The call succeeded and its whole result is in %s; only the reading failed", art.Handle)
		out.IsError = true
		out.Content = append(out.Content, textBlock(withRepairs(c.notes, e.Error())))
		return out, nil
	}
	if c.res.isError {
		out.Content = append(out.Content, textBlock(c.res.message(errorHead)))
	}
	out.Content = append(out.Content, textBlock(withRepairs(c.notes, head)+"\n"+read.body()))
	if read.Block != nil {
		out.Content = append(out.Content, read.Block)
	}
	return out, nil
}

// media returns how many images and audio blocks a result has.
func (r *result) media() int {
	n := 0
	for _, b := range r.blocks {
		if b.isMedia() {
			n++
		}
	}
	return n
}

// texts returns the blocks that are neither images nor audio.
func (r *result) texts() []json.RawMessage {
	var out []json.RawMessage
	for _, b := range r.blocks {
		if !b.isMedia() {
			out = append(out, b.raw)
		}
	}
	return out
}

// lines returns how many lines the texts have.
func (r *result) lines() int {
	n := 0
	for _, b := range r.blocks {
		if b.kind == "text" {
			n += bytes.Count(b.text, []byte(`\n`)) + 1
		}
	}
	return n
}

// tokens estimates what the result costs a model: from its head, middle and end where it is large,
// because every call pays for this.
func (r *result) tokens(exactly func(string) int) int {
	const window = 1 << 10
	count := func(raw []byte) int {
		if len(raw) <= 3*window {
			return exactly(string(raw))
		}
		mid := len(raw) / 2
		sample := exactly(string(raw[:window])) + exactly(string(raw[mid:mid+window])) + exactly(string(raw[len(raw)-window:]))
		return int(int64(sample) * int64(len(raw)) / (3 * window))
	}
	n := 0
	for _, b := range r.blocks {
		switch {
		case b.isMedia():
			n += mediaTokens
		case b.text != nil:
			n += count(b.text)
		default:
			n += count(b.raw)
		}
	}
	if r.structured != nil && !r.structuredIsText() {
		n += count(r.structured)
	}
	return n
}
