package transparent

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
)

// cursor is where the next page of a list begins. The list may change while an agent turns pages: then the page
// begins after the entry that was shown last, if it is still there, else at the same place.
type cursor struct {
	List   string `json:"list"`
	Offset int    `json:"offset"`
	After  string `json:"after"` // a hash of the name of the entry shown last
}

func (c cursor) String() string {
	raw, err := json.Marshal(c)
	if err != nil {
		panic(err) // texts and a number always marshal
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// readCursor reads a cursor of that list; text must not be empty.
func readCursor(list, text string) (cursor, error) {
	var c cursor
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil || c.List != list || c.Offset < 0 {
		return cursor{}, &serve.Fault{Code: invalidParams, Message: "unknown cursor: begin again without one"}
	}
	return c, nil
}

// mark stands for a name in a cursor.
func mark(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:6])
}

// begin is the index of the first row after the cursor.
func (c cursor) begin(rows []row) int {
	if c.Offset > 0 && c.Offset <= len(rows) && mark(rows[c.Offset-1].shown) == c.After {
		return c.Offset
	}
	for i, r := range rows {
		if mark(r.shown) == c.After {
			return i + 1
		}
	}
	return min(c.Offset, len(rows))
}

// paging is what the params of a list request ask for.
type paging struct {
	cursor string
	limit  int // entries; 0 = all
}

// readPaging takes cursor and limit from params; the limit is no part of the protocol, but agents of proxies send it.
func readPaging(params json.RawMessage) (p paging, err error) {
	for key, v := range rawjson.Members(params) {
		switch {
		case string(v) == "null":
		case key == "cursor":
			if p.cursor = rawjson.Unquote(v); v[0] != '"' {
				return p, &serve.Fault{Code: invalidParams, Message: "cursor must be a string"}
			}
		case key == "limit":
			n, wrong := strconv.Atoi(string(v))
			if wrong != nil || n < 1 {
				return p, &serve.Fault{Code: invalidParams, Message: "limit must be a whole number from 1 on"}
			}
			p.limit = n
		}
	}
	return p, nil
}

// page answers one list request: key names the list in the result.
func (l *list) page(key string, params json.RawMessage) (dispatch.Pieces, error) {
	p, err := readPaging(params)
	if err != nil {
		return nil, err
	}
	from := 0
	if p.cursor != "" {
		c, err := readCursor(key, p.cursor)
		if err != nil {
			return nil, err
		}
		from = c.begin(l.rows)
	}
	to := len(l.rows)
	if p.limit > 0 {
		to = min(to, from+p.limit)
	}
	end := "]}"
	if to < len(l.rows) {
		end = fmt.Sprintf(`],"nextCursor":%q}`, cursor{List: key, Offset: to, After: mark(l.rows[to-1].shown)})
	}
	return dispatch.Pieces{[]byte(`{"` + key + `":[`), l.render().joined(from, to), []byte(end)}, nil
}
