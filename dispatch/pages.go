package dispatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/spill"
)

// Pages says how a read-only tool is read to its end.
type Pages struct {
	Send  string `json:"send"`  // the argument that takes what next gives
	Next  string `json:"next"`  // jq on a page's data: what to send for the next page; null, false, "" or nothing ends
	Items string `json:"items"` // jq on a page's data: the list to join; a value that is no list counts as one item
	Max   int    `json:"max"`   // most pages; 0 means 100, which is the limit
}

const maxPages = 100

// pagesOf reads the parameter pages.
func pagesOf(raw json.RawMessage) (*Pages, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var p Pages
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return nil, &Error{Code: BadRequest, Message: "pages does not fit: " + err.Error(), Err: err, Do: pagesForm}
	}
	return &p, nil
}

const pagesForm = `Send {"send":"cursor","next":".nextCursor","items":".items[]"}`

// checkPages refuses what cannot be asked before the first page is.
func (d *Dispatcher) checkPages(p Pages) error {
	if p.Send == "" || p.Next == "" || p.Items == "" || p.Max < 0 || p.Max > maxPages {
		return &Error{Code: BadRequest, Message: fmt.Sprintf("pages needs send, next and items, and max of 1 to %d", maxPages), Do: pagesForm}
	}
	for _, filter := range []string{p.Next, p.Items} {
		if err := d.o.Shelf.Check(spill.Query{Op: "read", JQ: filter}); err != nil {
			return shelfError("", err)
		}
	}
	return nil
}

// turnPages makes the call page by page and gives the performed call the joined items as its result. A
// page that fails keeps what there was, and the note says so.
func (d *Dispatcher) turnPages(ctx context.Context, a Agent, c *performed, schema *arguments.Schema) error {
	p := *c.request.Pages
	if e := c.entry; e.ReadOnly == nil || !*e.ReadOnly {
		return withFate(&Error{Code: BadRequest, Message: fmt.Sprintf("%s does not say that it only reads, so it is not called page by page", e.Ref),
			Do: "Call it page by page yourself"}, NotSent)
	}
	limit := p.Max
	if limit == 0 {
		limit = maxPages
	}
	joined := []byte{'['}
	args, pages := c.args, 0
	var last json.RawMessage
	for {
		next, items, err := d.turnPage(ctx, a, c, args, p)
		if err != nil && pages == 0 {
			return err
		}
		if err != nil {
			c.note = fmt.Sprintf("Page %d failed, %d pages were joined. %s", pages+1, pages, asError(err).Error())
			break
		}
		pages++
		joined = appendItems(joined, items)
		if next == nil {
			break
		}
		if string(next) == string(last) {
			c.note = fmt.Sprintf("%d pages were joined; the last one names itself as the next, by %s %s", pages, p.Send, clip(string(next), 100))
			break
		}
		last = next
		if pages == limit {
			c.note = fmt.Sprintf("%d pages were joined; more follow, from %s %s", pages, p.Send, clip(string(next), 100))
			break
		}
		if args, err = withArgument(args, p.Send, next, schema); err != nil {
			c.note = fmt.Sprintf("%d pages were joined; the next can't be asked for: %v", pages, err)
			break
		}
	}
	var err error
	c.res, err = readResult(contentResult([]json.RawMessage{textBlock(string(append(joined, ']')))}, false))
	return err
}

// turnPage asks for one page. next is nil after the last.
func (d *Dispatcher) turnPage(ctx context.Context, a Agent, c *performed, args json.RawMessage, p Pages) (next, items json.RawMessage, err error) {
	raw, err := d.cross(ctx, d.crossingOf(a, c), args)
	c.agreed = true // a person is asked once, not for every page
	if err != nil {
		return nil, nil, err
	}
	res, err := received(c.entry, raw, nil)
	if err != nil {
		return nil, nil, err
	}
	if res.isError {
		return nil, nil, &Error{Code: Internal, Message: "the tool said: " + res.message(errorHead), Fate: Ran}
	}
	data := res.data()
	if items, err = d.apply(ctx, data, p.Items); err != nil {
		return nil, nil, err
	}
	next, err = d.apply(ctx, data, p.Next)
	switch string(next) {
	case "null", "false", `""`:
		next = nil
	}
	return next, items, err
}

// apply computes on a page; a filter that gives nothing gives nil.
func (d *Dispatcher) apply(ctx context.Context, data json.RawMessage, filter string) (json.RawMessage, error) {
	v, err := d.o.Shelf.Apply(ctx, data, spill.Want{JQ: filter})
	if nothing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, withFate(shelfError("the page", err), Ran)
	}
	return v, nil
}

// appendItems adds the elements of a list, or one value, to a JSON list that is still open.
func appendItems(list []byte, items json.RawMessage) []byte {
	add := func(v json.RawMessage) {
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, v...)
	}
	switch {
	case len(items) == 0 || string(items) == "null":
	case items[0] == '[':
		for v := range rawjson.Elements(items) {
			add(v)
		}
	default:
		add(items)
	}
	return list
}

// withArgument sets one argument and holds the whole against the schema.
func withArgument(args json.RawMessage, key string, v json.RawMessage, s *arguments.Schema) (json.RawMessage, error) {
	obj, err := arguments.ParseObject(args)
	if err != nil {
		return nil, err
	}
	out := obj.Set(key, v).Raw()
	if s == nil || s.Check(out) == nil {
		return out, nil
	}
	out, _ = s.Repair(out)
	return out, s.Check(out)
}
