package everything

import "strings"

var resourceEntries = []string{
	`{"uri":"test://static-text","name":"static text","title":"Static text","description":"A text that never changes.","mimeType":"text/plain","icons":[{"src":"data:image/png;base64,` + pixel + `","mimeType":"image/png"}]}`,
	`{"uri":"test://static-binary","name":"static binary","description":"A very small picture.","mimeType":"image/png"}`,
	`{"uri":"test://watched-resource","name":"watched","description":"Changes when test_touch is called.","mimeType":"text/plain"}`,
	`{"uri":"test://asks-first","name":"asks first","description":"Wants to know something before it is read.","mimeType":"text/plain"}`,
}

var templateEntries = []string{
	`{"uriTemplate":"test://template/{id}/data","name":"template","description":"Data of an id.","mimeType":"application/json"}`,
}

func (x *exchange) readResource() (string, error) {
	uri, body := x.p.URI, ""
	switch id, isData := strings.CutPrefix(uri, "test://template/"); {
	case uri == "test://static-text":
		body = `"mimeType":"text/plain","text":"This is the content of the static text resource."`
	case uri == "test://static-binary":
		body = `"mimeType":"image/png","blob":"` + pixel + `"`
	case uri == "test://watched-resource", uri == "test://example-resource":
		body = `"mimeType":"text/plain","text":"Watch me."`
	case uri == "test://asks-first":
		got, err := x.ask(form("reader", "Who reads?", `"name":{"type":"string"}`, "name"))
		if err != nil {
			return "", err
		}
		body = `"mimeType":"text/plain","text":` + quote("read by "+contentOf(got["reader"], "name"))
	case isData && strings.HasSuffix(id, "/data"):
		id = strings.TrimSuffix(id, "/data")
		body = `"mimeType":"application/json","text":` + quote(`{"id":`+quote(id)+`,"templateTest":true,"data":`+quote("Data for ID: "+id)+`}`)
	default:
		f := invalid("resource not found")
		if x.session != nil {
			f.code = -32002
		}
		f.data = `{"uri":` + quote(uri) + `}`
		return "", f
	}
	return x.cacheable() + `"contents":[{"uri":` + quote(uri) + `,` + body + `}]}`, nil
}
