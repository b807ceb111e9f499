package view

import (
	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

// Binding makes a server's arguments of those an agent sent. It is immutable.
type Binding struct{}

// reshape returns the entry as a rule shows it: own itself where the rule changes nothing.
func reshape(own *catalog.Entry, r Tool) (*catalog.Entry, *Origin, error) {
	return own, nil, nil
}
