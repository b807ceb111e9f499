package rawjson

// Set returns the object raw with the value of key exchanged for v, or with the member put at its end: all other bytes stay.
// Of several members of that key the last one counts, as in Member. What is no object comes back as it is. raw is not changed.
func Set(raw []byte, key string, v []byte) []byte {
	start := Space(raw, 0)
	if start >= len(raw) || raw[start] != '{' {
		return raw
	}
	var found, last Span
	for k, at := range Spans(raw, start) {
		if last = at; Unquote(k.Of(raw)) == key {
			found = at
		}
	}
	if !found.Empty() {
		return Replace(raw, found, v)
	}
	at, sep := start+1, ""
	if !last.Empty() {
		at, sep = last.To, ","
	}
	quoted := Quote(key)
	out := make([]byte, 0, len(raw)+len(quoted)+len(v)+2)
	out = append(append(out, raw[:at]...), sep...)
	out = append(append(append(out, quoted...), ':'), v...)
	return append(out, raw[at:]...)
}

// Replace returns raw with v in the place of a span. raw is not changed.
func Replace(raw []byte, at Span, v []byte) []byte {
	out := make([]byte, 0, len(raw)-(at.To-at.From)+len(v))
	return append(append(append(out, raw[:at.From]...), v...), raw[at.To:]...)
}

// Drop returns the object raw without the members of the keys, compact where it changes anything. What is no object
// comes back as it is.
func Drop(raw []byte, keys ...string) []byte {
	start := Space(raw, 0)
	if start >= len(raw) || raw[start] != '{' {
		return raw
	}
	out := []byte{'{'}
	dropped := false
	for k, at := range Spans(raw, start) {
		if is(Unquote(k.Of(raw)), keys) {
			dropped = true
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, k.Of(raw)...), ':'), at.Of(raw)...)
	}
	if !dropped {
		return raw
	}
	return append(out, '}')
}

func is(key string, keys []string) bool {
	for _, k := range keys {
		if k == key {
			return true
		}
	}
	return false
}

// Array returns the array of some values as they are.
func Array[T ~[]byte](values []T) []byte {
	out := []byte{'['}
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
