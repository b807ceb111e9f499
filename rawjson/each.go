package rawjson

// Each goes through the object or array that begins at i and calls visit with the key of each member (as written, quotes
// included; empty in an array) and the index at which its value begins. visit passes the value and returns the index after
// it, as Skip and Each do, or a negative one to end the walk: so what lies deeper is passed once, whoever looks at it.
// Each returns the index after the closing bracket, negative on a fault or where visit said so.
func Each(raw []byte, i int, visit func(key Span, at int) int) int {
	if i < 0 || i >= len(raw) || raw[i] != '{' && raw[i] != '[' {
		return -1
	}
	closing := raw[i] + 2 // } and ] stand two after { and [
	i = Space(raw, i+1)
	if i < len(raw) && raw[i] == closing {
		return i + 1
	}
	for i < len(raw) {
		var key Span
		if closing == '}' {
			end := text(raw, i)
			if raw[i] != '"' || end < 0 {
				return -1
			}
			key = Span{i, end}
			if i = Space(raw, end); i >= len(raw) || raw[i] != ':' {
				return -1
			}
			i = Space(raw, i+1)
		}
		if i = visit(key, i); i < 0 {
			return -1
		}
		if i = Space(raw, i); i >= len(raw) {
			return -1
		}
		if raw[i] == closing {
			return i + 1
		}
		if raw[i] != ',' {
			return -1
		}
		i = Space(raw, i+1)
	}
	return -1
}
