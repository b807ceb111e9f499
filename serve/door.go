package serve

import (
	"net/http"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// Doorkeeper says who agents are. Implementations are safe for concurrent use.
type Doorkeeper interface {
	// Enter says who sent the request, as far as a credential tells: Principal, Role, View and Claims. An agent that
	// must not come in here is an error, whose words are not shown.
	Enter(r *http.Request) (dispatch.Agent, error)
	// Refuse is the status and the WWW-Authenticate header ("" for none) that answer an error of Enter.
	Refuse(r *http.Request, err error) (status int, challenge string)
}
