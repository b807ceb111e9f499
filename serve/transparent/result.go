package transparent

import (
	"bytes"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

// rewriter puts our URIs and task ids into the places where a server's result has its own. It goes through the result
// once; what it does not change is not copied.
type rewriter struct {
	raw  []byte
	uri  func(own string) string
	task func(own string) string

	out dispatch.Pieces
	at  int // up to where raw is in out
}

// shape is where a result keeps URIs and task ids: the visitor of its members.
type shape func(w *rewriter, key rawjson.Span, at int) int

// rewrite goes through raw, which is valid JSON. One that holds none of the words is passed on unread.
func (w *rewriter) rewrite(s shape) dispatch.Pieces {
	if bytes.Contains(w.raw, []byte(`uri`)) || bytes.Contains(w.raw, []byte(`taskId`)) {
		w.members(rawjson.Space(w.raw, 0), s)
	}
	return append(w.out, w.raw[w.at:])
}

// replace puts text, as a JSON string, in the place of a span that comes after all others replaced so far.
func (w *rewriter) replace(s rawjson.Span, text string) {
	if own := s.Of(w.raw); s.Empty() || s.From < w.at || rawjson.Unquote(own) == text {
		return
	}
	w.out = append(w.out, w.raw[w.at:s.From], rawjson.Quote(text))
	w.at = s.To
}

func (w *rewriter) replaceURI(s rawjson.Span) {
	if own := rawjson.Unquote(s.Of(w.raw)); own != "" {
		w.replace(s, w.uri(own))
	}
}

func (w *rewriter) replaceTask(s rawjson.Span) {
	if own := rawjson.Unquote(s.Of(w.raw)); own != "" {
		w.replace(s, w.task(own))
	}
}

// members visits the members of the object at i, the elements of the array at i, or passes any other value.
func (w *rewriter) members(i int, s shape) int {
	if w.raw[i] != '{' && w.raw[i] != '[' {
		return rawjson.Skip(w.raw, i)
	}
	return rawjson.Each(w.raw, i, func(key rawjson.Span, at int) int { return s(w, key, at) })
}

func (w *rewriter) key(key rawjson.Span) string { return rawjson.Unquote(key.Of(w.raw)) }

// value passes a value and returns where it stands.
func (w *rewriter) value(at int) (rawjson.Span, int) {
	end := rawjson.Skip(w.raw, at)
	return rawjson.Span{From: at, To: max(end, at)}, end
}

// toolResult is a CallToolResult, or the task that was made instead of one.
func toolResult(w *rewriter, key rawjson.Span, at int) int {
	switch w.key(key) {
	case "content":
		return w.members(at, func(w *rewriter, _ rawjson.Span, at int) int { return w.block(at) })
	case "_meta":
		return w.members(at, relatedTask)
	case "task":
		return w.members(at, task)
	case "taskId": // beside resultType "task"; no other result has it
		return task(w, key, at)
	}
	return rawjson.Skip(w.raw, at)
}

// task is a task, which may hold the result or the questions of its call.
func task(w *rewriter, key rawjson.Span, at int) int {
	switch w.key(key) {
	case "taskId":
		id, end := w.value(at)
		w.replaceTask(id)
		return end
	case "_meta":
		return w.members(at, relatedTask)
	case "result":
		return w.members(at, toolResult)
	}
	return rawjson.Skip(w.raw, at)
}

// tasks is the result of tasks/list.
func tasks(w *rewriter, key rawjson.Span, at int) int {
	if w.key(key) != "tasks" {
		return rawjson.Skip(w.raw, at)
	}
	return w.members(at, func(w *rewriter, _ rawjson.Span, at int) int { return w.members(at, task) })
}

// relatedTask is a `_meta`.
func relatedTask(w *rewriter, key rawjson.Span, at int) int {
	if w.key(key) != "io.modelcontextprotocol/related-task" {
		return rawjson.Skip(w.raw, at)
	}
	return w.members(at, task)
}

// promptResult is a GetPromptResult.
func promptResult(w *rewriter, key rawjson.Span, at int) int {
	if w.key(key) != "messages" {
		return rawjson.Skip(w.raw, at)
	}
	return w.members(at, func(w *rewriter, _ rawjson.Span, at int) int {
		return w.members(at, func(w *rewriter, key rawjson.Span, at int) int {
			if w.key(key) != "content" {
				return rawjson.Skip(w.raw, at)
			}
			if w.raw[at] == '[' {
				return w.members(at, func(w *rewriter, _ rawjson.Span, at int) int { return w.block(at) })
			}
			return w.block(at)
		})
	})
}

// resourceResult is a ReadResourceResult.
func resourceResult(w *rewriter, key rawjson.Span, at int) int {
	if w.key(key) != "contents" {
		return rawjson.Skip(w.raw, at)
	}
	return w.members(at, func(w *rewriter, _ rawjson.Span, at int) int {
		uri, end := w.uriOf(at)
		w.replaceURI(uri)
		return end
	})
}

// block is one content block, whose type may stand after its URI.
func (w *rewriter) block(at int) int {
	var kind, link, embedded rawjson.Span
	end := w.members(at, func(w *rewriter, key rawjson.Span, at int) (end int) {
		switch w.key(key) {
		case "type":
			kind, end = w.value(at)
		case "uri":
			link, end = w.value(at)
		case "resource":
			embedded, end = w.uriOf(at)
		default:
			end = rawjson.Skip(w.raw, at)
		}
		return end
	})
	switch rawjson.Unquote(kind.Of(w.raw)) {
	case "resource_link":
		w.replaceURI(link)
	case "resource":
		w.replaceURI(embedded)
	}
	return end
}

// uriOf finds the uri of the object at i.
func (w *rewriter) uriOf(i int) (uri rawjson.Span, end int) {
	end = w.members(i, func(w *rewriter, key rawjson.Span, at int) int {
		if w.key(key) != "uri" {
			return rawjson.Skip(w.raw, at)
		}
		var end int
		uri, end = w.value(at)
		return end
	})
	return uri, end
}
