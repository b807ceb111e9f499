package builtin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	countries = []string{"DE", "ES", "FR", "GB", "IT", "NL", "PL", "PT", "SE", "US"}
	statuses  = []string{"cancelled", "delivered", "paid", "pending", "refunded", "shipped"}
	given     = []string{"Ana", "Bruno", "Chiara", "David", "Elena", "Filip", "Greta", "Hugo", "Ines", "Jonas", "Karin", "Luca", "Marta", "Nils", "Olga", "Pedro"}
	family    = []string{"Almeida", "Bauer", "Costa", "Dubois", "Eriksson", "Ferreira", "Garcia", "Hansen", "Ivanova", "Jansen", "Kowalski", "Lopes", "Moreau", "Novak", "Olsen", "Rossi"}
	notes     = []string{"leave with the neighbour", "gift, no invoice in the parcel", "call before delivery", "second attempt after failed payment", "address checked by support"}
	epoch     = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
)

// order is one row.
type order struct {
	id, cents     int64
	given, family string
	country       string
	status        string
	note          string
	items         int
	created       time.Time
}

// mix turns a number into one that looks like chance (splitmix64).
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// order computes row id. Its values depend on the seed and the id alone.
func (t *table) order(id int64) order {
	r := mix(t.seed ^ mix(uint64(id)))
	s := mix(r)
	o := order{
		id:      id,
		given:   given[r%16],
		family:  family[r>>4%16],
		country: countries[r>>8%uint64(len(countries))],
		items:   1 + int(r>>16%8),
		created: epoch.Add(time.Duration(id)*37*time.Second + time.Duration(s%30)*time.Second),
	}
	o.cents = int64(o.items) * int64(199+r>>24%9800)
	switch p := s >> 8 % 100; {
	case p < 55:
		o.status = "delivered"
	case p < 75:
		o.status = "shipped"
	case p < 85:
		o.status = "paid"
	case p < 92:
		o.status = "pending"
	case p < 97:
		o.status = "cancelled"
	default:
		o.status = "refunded"
	}
	if s>>16%10 == 0 {
		o.note = notes[s>>20%uint64(len(notes))]
	}
	return o
}

// append writes the row as a JSON object with the columns shown. No value
// holds a character that JSON escapes.
func (o *order) append(b []byte, show []bool) []byte {
	first := true
	for i, c := range columns {
		if !show[i] {
			continue
		}
		if first {
			b = append(b, '{')
			first = false
		} else {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), c.Name...), `":`...)
		b = o.value(b, c.Name)
	}
	return append(b, '}')
}

func (o *order) value(b []byte, name string) []byte {
	switch name {
	case "id":
		return strconv.AppendInt(b, o.id, 10)
	case "items":
		return strconv.AppendInt(b, int64(o.items), 10)
	case "amount":
		b = strconv.AppendInt(b, o.cents/100, 10)
		return append(b, '.', byte('0'+o.cents/10%10), byte('0'+o.cents%10))
	case "created":
		return append(o.created.AppendFormat(append(b, '"'), time.RFC3339), '"')
	case "email":
		b = append(append(b, '"'), strings.ToLower(o.given)...)
		b = append(append(append(b, '.'), strings.ToLower(o.family)...), "@example.com"...)
		return append(b, '"')
	}
	b = append(b, '"')
	switch name {
	case "customer":
		b = append(append(append(b, o.given...), ' '), o.family...)
	case "country":
		b = append(b, o.country...)
	case "status":
		b = append(b, o.status...)
	case "note":
		b = append(b, o.note...)
	}
	return append(b, '"')
}

// compile checks the filter and gives the test it stands for.
func (f filter) compile() (func(*order) bool, error) {
	if f.Country != "" && !slices.Contains(countries, f.Country) {
		return nil, fmt.Errorf("filter.country %q is unknown: %s", f.Country, strings.Join(countries, ", "))
	}
	if f.Status != "" && !slices.Contains(statuses, f.Status) {
		return nil, fmt.Errorf("filter.status %q is unknown: %s", f.Status, strings.Join(statuses, ", "))
	}
	from, err := day("filter.from", f.From)
	if err != nil {
		return nil, err
	}
	to, err := day("filter.to", f.To)
	if err != nil {
		return nil, err
	}
	customer := strings.ToLower(f.Customer)
	return func(o *order) bool {
		amount := float64(o.cents) / 100
		return (f.Country == "" || o.country == f.Country) &&
			(f.Status == "" || o.status == f.Status) &&
			(customer == "" || strings.Contains(strings.ToLower(o.given+" "+o.family), customer)) &&
			(f.MinAmount == nil || amount >= *f.MinAmount) &&
			(f.MaxAmount == nil || amount <= *f.MaxAmount) &&
			(f.From == "" || !o.created.Before(from)) &&
			(f.To == "" || o.created.Before(to))
	}, nil
}

// day reads a date or a time.
func day(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %q is neither a date such as 2024-05-31 nor a time such as 2024-05-31T12:00:00Z", name, text)
}
