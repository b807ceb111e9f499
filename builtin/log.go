package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var levels = []string{"DEBUG", "INFO", "WARN", "ERROR"}

type logArgs struct {
	Lines  *int64
	Offset int64
	Level  string
}

// log answers with log lines; line N tells of order N.
func (t *table) log(ctx context.Context, raw json.RawMessage) (any, error) {
	args, err := read[logArgs](raw)
	if err != nil {
		return nil, err
	}
	want, err := wanted("lines", args.Lines, 200, args.Offset)
	if err != nil {
		return nil, err
	}
	least := 0
	if args.Level != "" {
		if least = slices.Index(levels, strings.ToUpper(args.Level)); least < 0 {
			return nil, fmt.Errorf("level %q is unknown: %s", args.Level, strings.Join(levels, ", "))
		}
	}
	out := newText(want, 110, t.max)
	for n, passed := int64(1), int64(0); n <= t.rows && want > 0; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		o := t.order(n)
		level, message := event(&o, mix(t.seed+uint64(n)))
		if level < least {
			continue
		}
		if passed++; passed <= args.Offset {
			continue
		}
		out.b = o.created.AppendFormat(out.b, time.RFC3339)
		out.add(" " + levels[level] + " shop order=")
		out.b = strconv.AppendInt(out.b, n, 10)
		out.add(" " + message + "\n")
		if err := out.full(); err != nil {
			return nil, err
		}
		want--
	}
	return string(out.b), nil
}

// event makes up what happened to an order: one in 500 is an error.
func event(o *order, r uint64) (level int, message string) {
	ms := strconv.Itoa(int(3 + r>>32%240))
	switch r % 500 {
	case 0:
		return 3, `msg="payment gateway did not answer" attempt=3 ms=30000`
	case 1, 2, 3, 4, 5:
		return 2, `msg="stock is low" country=` + o.country + ` ms=` + ms
	}
	if r%5 == 0 {
		return 0, `msg="price looked up" items=` + strconv.Itoa(o.items) + ` ms=` + ms
	}
	return 1, `msg="order ` + o.status + `" country=` + o.country + ` ms=` + ms
}
