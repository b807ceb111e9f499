package spill

import (
	"github.com/proxy-dispatch/proxy-dispatch/spill/grep"
	"github.com/proxy-dispatch/proxy-dispatch/spill/jq"
)

// Check refuses a query that Read would refuse whatever the data, before there is any: so that nothing
// is called for a question that cannot be asked. The errors are those of Read.
func (s *Shelf) Check(q Query) error {
	q, err := s.check(q)
	if err != nil {
		return err
	}
	if q.Path != "" {
		if err := checkPath(q.Path); err != nil {
			return err
		}
	}
	if q.JQ != "" {
		if err := jq.Check(q.JQ); err != nil {
			return err
		}
	}
	if q.Op == "grep" {
		_, err = grep.Compile(q.Pattern)
	}
	return err
}
