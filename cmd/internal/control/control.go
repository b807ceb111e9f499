// Package control lets the person's own commands reach a running proxy: HTTP over a local socket, or behind a token.
package control

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Report is what became of a change of the configuration.
type Report struct {
	// Added, Removed and Changed name servers.
	Added   []string `json:"added,omitempty"`
	Removed []string `json:"removed,omitempty"`
	Changed []string `json:"changed,omitempty"`
	// NeedsRestart names keys that are in force only after a restart of the proxy.
	NeedsRestart []string `json:"needsRestart,omitempty"`
}

// Server is how a server stands.
type Server struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Why   string `json:"why,omitempty"` // without secrets
}

// Verb is a change of one server in the configuration file.
type Verb string

// The verbs.
const (
	Add     Verb = "add"
	Remove  Verb = "remove"
	Enable  Verb = "enable"
	Disable Verb = "disable"
)

// Controller is a running proxy. Implementations are safe for concurrent use; the words of their errors are shown to the
// person and hold no secrets.
type Controller interface {
	// Reload reads the configuration file again.
	Reload(ctx context.Context) (Report, error)
	// Change changes one server in the file, keeping comments and order, and reloads it. The entry is the JSON of a server
	// for Add, else nil. A change that makes the file faulty is not made.
	Change(ctx context.Context, verb Verb, server string, entry json.RawMessage) (Report, error)
	// Restart ends a server's session and begins a new one.
	Restart(server string) error
	// Servers tells how all servers stand.
	Servers() []Server
}

// ErrUnknownServer is wrapped by a Controller's error for a server that is not there.
var ErrUnknownServer = errors.New("there is no such server")

// maxEntry is the most bytes of a server's entry.
const maxEntry = 1 << 20

// Handler answers requests about c below prefix: GET servers, POST reload, POST servers/NAME/restart|enable|disable,
// PUT and DELETE servers/NAME.
func Handler(prefix string, c Controller) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+prefix+"/servers", func(w http.ResponseWriter, _ *http.Request) { answer(w, c.Servers(), nil) })
	mux.HandleFunc("POST "+prefix+"/reload", func(w http.ResponseWriter, r *http.Request) {
		report, err := c.Reload(r.Context())
		answer(w, report, err)
	})
	mux.HandleFunc("POST "+prefix+"/servers/{name}/restart", func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, c.Restart(r.PathValue("name")))
	})
	change := func(verb Verb) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			entry, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEntry))
			if err != nil {
				http.Error(w, "the entry is too large", http.StatusRequestEntityTooLarge)
				return
			}
			report, err := c.Change(r.Context(), verb, r.PathValue("name"), entry)
			answer(w, report, err)
		}
	}
	mux.HandleFunc("PUT "+prefix+"/servers/{name}", change(Add))
	mux.HandleFunc("DELETE "+prefix+"/servers/{name}", change(Remove))
	mux.HandleFunc("POST "+prefix+"/servers/{name}/enable", change(Enable))
	mux.HandleFunc("POST "+prefix+"/servers/{name}/disable", change(Disable))
	return mux
}

// failure is the body of an answer that is an error.
type failure struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, value any, err error) {
	status := http.StatusOK
	if err != nil {
		status, value = http.StatusUnprocessableEntity, failure{err.Error()}
		if errors.Is(err, ErrUnknownServer) {
			status = http.StatusNotFound
		}
	}
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // who asked and left needs no answer
}

// Behind lets only those through to next who send the token.
func Behind(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(sent))
		if !ok || token == "" || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the admin token is required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
