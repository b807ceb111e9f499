package builtin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/server"
)

func dataset(t testing.TB, o DatasetOptions) *server.MCPServer {
	t.Helper()
	s, err := Dataset(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type row struct {
	ID                                 int64
	Customer, Country, Status, Created string
	Amount                             float64
	Items                              int
}

func rows(t testing.TB, s *server.MCPServer, args string) []row {
	t.Helper()
	a := call(t, s, "query_rows", args)
	if a.IsError {
		t.Fatal(a.text())
	}
	var rs []row
	if err := json.Unmarshal([]byte(a.text()), &rs); err != nil {
		t.Fatal(err)
	}
	return rs
}

func TestQueryRows(t *testing.T) {
	s := dataset(t, DatasetOptions{Rows: 5000})
	if got := call(t, s, "query_rows", `{"rows":2,"columns":["id","country","amount"]}`).text(); got != `[{"id":1,"country":"GB","amount":61.66},{"id":2,"country":"PL","amount":115.04}]` {
		t.Errorf("the table changed: %s", got)
	}
	for _, tc := range []struct {
		name, args string
		n          int
		holds      func(row) bool
	}{
		{"default", `{}`, 100, nil},
		{"none", `{"rows":0}`, 0, nil},
		{"offset", `{"rows":3,"offset":4998}`, 2, func(r row) bool { return r.ID > 4998 }},
		{"offset past the end", `{"offset":99999999999}`, 0, nil},
		{"country", `{"rows":20,"filter":{"country":"PT"}}`, 20, func(r row) bool { return r.Country == "PT" }},
		{"status and amount", `{"rows":10,"filter":{"status":"paid","minAmount":100,"maxAmount":300}}`, 10, func(r row) bool { return r.Status == "paid" && r.Amount >= 100 && r.Amount <= 300 }},
		{"customer", `{"rows":5,"filter":{"customer":"ana cos"}}`, 5, func(r row) bool { return r.Customer == "Ana Costa" }},
		{"days", `{"rows":5000,"filter":{"from":"2024-01-01","to":"2024-01-02"}}`, 2334, func(r row) bool { return r.Created < "2024-01-02" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rs := rows(t, s, tc.args)
			if len(rs) != tc.n {
				t.Errorf("got %d rows, want %d", len(rs), tc.n)
			}
			for _, r := range rs {
				if tc.holds != nil && !tc.holds(r) {
					t.Errorf("row does not belong: %+v", r)
				}
			}
		})
	}
	paged := append(rows(t, s, `{"rows":3,"filter":{"country":"SE"}}`), rows(t, s, `{"rows":3,"offset":3,"filter":{"country":"SE"}}`)...)
	if diff := cmp.Diff(rows(t, s, `{"rows":6,"filter":{"country":"SE"}}`), paged); diff != "" {
		t.Errorf("pages do not join: %s", diff)
	}
}

func TestDatasetErrors(t *testing.T) {
	s := dataset(t, DatasetOptions{MaxBytes: 10_000})
	for _, tc := range []struct{ name, tool, args, want string }{
		{"too large", "query_rows", `{"rows":1000000}`, "would exceed 10000 bytes"},
		{"log too large", "log_lines", `{"lines":1000000}`, "would exceed 10000 bytes"},
		{"column", "query_rows", `{"columns":["price"]}`, "unknown: id, customer"},
		{"country", "query_rows", `{"filter":{"country":"Portugal"}}`, "filter.country"},
		{"date", "query_rows", `{"filter":{"from":"yesterday"}}`, "filter.from"},
		{"negative", "query_rows", `{"rows":-1}`, "below 0"},
		{"negative offset", "log_lines", `{"offset":-1}`, "below 0"},
		{"level", "log_lines", `{"level":"FATAL"}`, "DEBUG, INFO"},
		{"no rows", "aggregate_rows", `{}`, "rows is missing"},
		{"no number", "aggregate_rows", `{"rows":[{"a":1},{"a":"x"}],"sum":"a"}`, "rows[1].a: not a number"},
		{"no records", "aggregate_rows", `{"rows":[1]}`, "rows"},
		{"unknown", "describe_table", `{"x":1}`, "x"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if a := call(t, s, tc.tool, tc.args); !a.IsError || !strings.Contains(a.text(), tc.want) {
				t.Errorf("isError %v, got %s, want %s", a.IsError, a.text(), tc.want)
			}
		})
	}
}

func TestAggregateRows(t *testing.T) {
	s := dataset(t, DatasetOptions{})
	for _, tc := range []struct{ name, args, want string }{
		{"total", `{"rows":[{"a":0.1},{"a":0.2}],"sum":"a"}`, `{"total":{"count":2,"sum":0.3,"min":0.1,"max":0.2,"mean":0.15},"sum":"a"}`},
		{"nothing", `{"rows":[]}`, `{"total":{"count":0}}`},
		{"groups", `{"rows":[{"k":"x","a":1},{"k":"y","a":2},{"k":"x","a":null}],"groupBy":"k","sum":"a"}`,
			`{"total":{"count":3,"sum":3,"min":1,"max":2,"mean":1.5},"groupBy":"k","sum":"a","groups":[{"key":"x","count":2,"sum":1,"min":1,"max":1,"mean":1},{"key":"y","count":1,"sum":2,"min":2,"max":2,"mean":2}]}`},
		{"groups of other values", `{"rows":[{"k":1},{"k":true},{}],"groupBy":"k"}`,
			`{"total":{"count":3},"groupBy":"k","groups":[{"key":"1","count":1},{"key":"null","count":1},{"key":"true","count":1}]}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := call(t, s, "aggregate_rows", tc.args)
			if diff := cmp.Diff(tc.want, a.text()); diff != "" || string(a.StructuredContent) != tc.want {
				t.Errorf("-want +got\n%s\nstructured %s", diff, a.StructuredContent)
			}
		})
	}
}

// What one tool gives, the next one takes.
func TestQueryThenAggregate(t *testing.T) {
	s := dataset(t, DatasetOptions{})
	found := call(t, s, "query_rows", `{"rows":6000}`).text()
	if n := len(found); n < 900_000 || n > 1_200_000 {
		t.Errorf("6,000 rows are %d bytes, want about a million", n)
	}
	a := call(t, s, "aggregate_rows", `{"groupBy":"country","sum":"amount","rows":`+found+`}`)
	var out aggregateAnswer
	if err := json.Unmarshal(a.StructuredContent, &out); err != nil {
		t.Fatalf("%v: %s", err, a.text())
	}
	if out.Total.Count != 6000 || len(out.Groups) != len(countries) {
		t.Errorf("got %d rows in %d groups", out.Total.Count, len(out.Groups))
	}
}

func TestLogLines(t *testing.T) {
	s := dataset(t, DatasetOptions{})
	all := strings.Split(strings.TrimSuffix(call(t, s, "log_lines", `{"lines":2000}`).text(), "\n"), "\n")
	bad := strings.Split(strings.TrimSuffix(call(t, s, "log_lines", `{"lines":2,"level":"ERROR"}`).text(), "\n"), "\n")
	if len(all) != 2000 || len(bad) != 2 {
		t.Fatalf("got %d and %d lines", len(all), len(bad))
	}
	for _, l := range bad {
		if !strings.Contains(l, " ERROR ") {
			t.Errorf("line %s", l)
		}
	}
	second := call(t, s, "log_lines", `{"lines":1,"offset":1}`).text()
	if second != all[1]+"\n" {
		t.Errorf("offset 1 gives %s, want %s", second, all[1])
	}
}

func TestSeeds(t *testing.T) {
	a, b := dataset(t, DatasetOptions{Seed: 1}), dataset(t, DatasetOptions{Seed: 2})
	one := call(t, a, "query_rows", `{"rows":50}`).text()
	if one != call(t, dataset(t, DatasetOptions{Seed: 1}), "query_rows", `{"rows":50}`).text() {
		t.Error("the same seed gives another table")
	}
	if one == call(t, b, "query_rows", `{"rows":50}`).text() {
		t.Error("another seed gives the same table")
	}
}
