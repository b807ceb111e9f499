package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

const scripting = `"script": {"enabled": true}`

// code measures what agents do with programs: calls at once, what enters the conversation, what stays in memory.
func (r *rig) code() error {
	s, err := r.throughWith(scripting, server{"echo", []string{r.echo}}, server{"orders", nil})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := r.fifty(s); err != nil {
		return err
	}
	if err := r.worked(s); err != nil {
		return err
	}
	return r.runs(s)
}

// use sends one input of the tool and gives the text of the answer, and how long that took.
func (r *rig) use(s *side, input string) (string, time.Duration, error) {
	began := time.Now()
	raw, err := s.Call(r.ctx, "proxy-dispatch", input, "")
	took := time.Since(began)
	if err != nil {
		return "", 0, err
	}
	var a struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return "", 0, err
	}
	var b strings.Builder
	for _, c := range a.Content {
		b.WriteString(c.Text)
	}
	if a.IsError {
		return "", 0, errors.New(b.String())
	}
	return b.String(), took, nil
}

func runInput(code string) string {
	text, _ := json.Marshal(map[string]string{"action": "run", "code": code})
	return string(text)
}

// fifty compares fifty calls at once from code with the same in one batch.
func (r *rig) fifty(s *side) error {
	calls := make([]string, 50)
	for i := range calls {
		calls[i] = fmt.Sprintf(`{"tool":"echo/echo","arguments":{"message":"%d"}}`, i)
	}
	batch := `{"action":"batch","calls":[` + strings.Join(calls, ",") + `]}`
	run := runInput("await Promise.all(Array.from({length: 50}, (_, i) => tools.echo.echo({message: String(i)})))")
	var ratios, byRun, byBatch []float64
	for range r.rounds {
		byRun, byBatch = nil, nil
		for i := range 60 {
			for _, x := range []struct {
				input string
				into  *[]float64
			}{{run, &byRun}, {batch, &byBatch}} {
				_, took, err := r.use(s, x.input)
				if err != nil {
					return err
				}
				if i >= 10 { // warm
					*x.into = append(*x.into, float64(took.Microseconds())/1000)
				}
			}
		}
		ratios = append(ratios, median(byRun)/median(byBatch))
	}
	r.most("run of 50 concurrent calls / the same 50 by batch", median(ratios), 1.3, "", fmt.Sprintf("%.2f / %.2f ms in the last round", median(byRun), median(byBatch)))
	return nil
}

// worked counts what a task costs a model: twenty lookups, a join of their results, the five best.
func (r *rig) worked(s *side) error {
	c, err := tokens.New("")
	if err != nil {
		return err
	}
	countries := strings.Fields("DE ES FR GB IT NL PL PT SE US")
	var byOne int
	for _, country := range countries {
		for _, status := range []string{"paid", "refunded"} {
			input := fmt.Sprintf(`{"action":"call","tool":"orders/query_rows","arguments":{"rows":10,"filter":{"country":%q,"status":%q}}}`, country, status)
			said, _, err := r.use(s, input)
			if err != nil {
				return err
			}
			byOne += c.Count(input) + c.Count(said)
		}
	}
	list, _ := json.Marshal(countries)
	input := runInput(`const orders = (country, status) => tools.orders.query_rows({ rows: 10, filter: { country, status } });
const sum = (rows) => rows.reduce((n, o) => n + o.amount, 0);
const found = await Promise.all(` + string(list) + `.map(async (country) => {
  const [paid, refunded] = await Promise.all([orders(country, "paid"), orders(country, "refunded")]);
  return { country, paid: sum(paid), refunded: sum(refunded) };
}));
return found.sort((a, b) => b.paid - b.refunded - a.paid + a.refunded).slice(0, 5);`)
	said, _, err := r.use(s, input)
	if err != nil {
		return err
	}
	byCode := c.Count(input) + c.Count(said)
	r.most("20 lookups, join, top 5: tokens through the model, code / one by one", float64(byCode)/float64(byOne), 0.05, "", fmt.Sprintf("%d / %d", byCode, byOne))
	return nil
}

// runs looks at the memory that many runs leave behind.
func (r *rig) runs(s *side) error {
	input := runInput("const all = []; for (let i = 0; i < 1000; i++) all.push({ i, text: 'row ' + i }); return (await tools.echo.echo({message: 'x'})).length + all.length")
	var after [2]int64
	for i := 1; i <= 10_000; i++ {
		if _, _, err := r.use(s, input); err != nil {
			return err
		}
		switch i {
		case 1000:
			after[0] = status(s.Pid(), "VmRSS")
		case 10_000:
			after[1] = status(s.Pid(), "VmRSS")
		}
	}
	if after[0] == 0 {
		return nil // not told here
	}
	r.most("resident memory after 10,000 runs / after 1,000", float64(after[1])/float64(after[0]), 1.1, "", fmt.Sprintf("%d / %d MiB", after[1]>>20, after[0]>>20))
	return nil
}
