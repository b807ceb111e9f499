package downstream

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	defaultTimeout      = 60 * time.Second
	defaultStartTimeout = 30 * time.Second
	defaultPingEvery    = 30 * time.Second
	defaultMaxMessage   = 256 << 20
	defaultAskTimeout   = 10 * time.Minute
	defaultMaxAgents    = 64
	defaultAgentIdle    = 15 * time.Minute
)

// Server says how one server is reached. Exactly one of Command, URL and Local is set,
// unless Unset or Disabled says that it is not to be reached at all.
type Server struct {
	// Name is unique in a Fleet; calls, events and errors use it.
	Name string
	// ID changes with the server's configuration: Apply leaves a server alone whose ID stays. "" never stays.
	ID string
	// Command is the program of a stdio server, looked up in the PATH of Env if Env sets one.
	Command string
	// Args are the program's arguments.
	Args []string
	// Env is a list of K=V added to this process's own environment.
	Env []string
	// Dir is the program's working directory; "" is ours.
	Dir string
	// URL is the endpoint of a remote server.
	URL string
	// Headers go with every HTTP request.
	Headers map[string]string
	// Login puts what a remote server wants to know of us into requests; nil: they go as they are.
	Login func(next http.RoundTripper) http.RoundTripper
	// Transport is "stdio", "http" or "sse"; "" decides by Command and URL. "http" falls back to
	// "sse" when the server refuses initialize with a 4xx status.
	Transport string
	// Local makes a server that lives in this process.
	Local func() (*server.MCPServer, error)
	// Timeout bounds one call; 0 is 60 s.
	Timeout time.Duration
	// StartTimeout bounds start and handshake; 0 is 30 s.
	StartTimeout time.Duration
	// Lazy servers start at their first call.
	Lazy bool
	// Disabled servers never start.
	Disabled bool
	// Unset is a problem of the configuration: the server is failing with it and never starts.
	Unset error
	// Protocol is "auto" (also ""), "legacy" or "2026-07-28".
	Protocol string
	// Framing says how messages on stdin and stdout are told apart: "newline" (also "") or "content-length".
	Framing string
	// PerAgent gives each Asker a session, and so a process, of its own, for servers that keep state for one user. Requests
	// without an Asker share one session.
	PerAgent bool
	// Describe is one redacted line about the server for errors; "" is the name.
	Describe string
}

// ClientInfo names this program to servers.
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Client is what a server is told of whoever uses it.
type Client struct {
	Info ClientInfo
	// Capabilities is the object that initialize declares, and each request in versions without it; nil is {}.
	Capabilities json.RawMessage
}

// Options make a Fleet. The zero value is a fleet without servers.
type Options struct {
	// Servers in configuration order.
	Servers []Server
	// Log takes the servers' stderr and what happens to sessions; nil discards.
	Log *slog.Logger
	// Redact removes a server's secrets from a text; nil changes nothing. Called concurrently.
	Redact func(server, text string) string
	// MaxMessage is the largest message taken from a server in bytes; 0 is 256 MiB.
	MaxMessage int64
	// Watcher is the command line of a process that runs process.Watch on its stdin; nil is none.
	Watcher []string
	// PingEvery is how long a session may be idle before it is pinged; 0 is 30 s, negative never.
	PingEvery time.Duration
	// OnEvent hears what happens to servers, from one goroutine, in order; nil is nobody.
	// Changes that nobody heard yet are told once, however often a server repeats them. A call returns after what
	// its server said before the result was heard, so OnEvent must not wait for a call.
	OnEvent func(Event)
	// ClientInfo is told to servers; the zero value is proxy-dispatch, version 0. See also Fleet.Introduce.
	ClientInfo ClientInfo
	// Capabilities are declared to servers, for somebody can answer what they allow servers to ask; nil is {}.
	Capabilities json.RawMessage
	// ClientOf tells what the server of a session of an agent's own is told instead; false is the same as of all. Nil
	// changes nothing. Called concurrently.
	ClientOf func(asker string) (Client, bool)
	// Asked answers requests of servers that belong to no call, or to one whose agent can't be asked; nil refuses
	// them. It is like Request.Ask; AskerOf tells whose session they come from. Called concurrently.
	Asked func(ctx context.Context, server, method string, params json.RawMessage) (json.RawMessage, error)
	// AskTimeout is the longest wait for an answer to a server's request; 0 is 10 minutes. A call stands still
	// meanwhile: the server's own timeout counts the server's time, a Request.Timeout counts all.
	AskTimeout time.Duration
	// MaxAgents is how many agents may have sessions of their own with one server at once; 0 is 64.
	MaxAgents int
	// AgentIdle is how long such a session lives without a request; 0 is 15 minutes.
	AgentIdle time.Duration

	// dial stands for the way to every server in tests; nil is the way its options say.
	dial func(Server) (conn, error)
}

// EventKind says what happened to a server.
type EventKind string

// The kinds of events.
const (
	Ready            EventKind = "ready"             // a session is there
	Lost             EventKind = "lost"              // the session that was there is gone
	StateChanged     EventKind = "state"             // State gives another answer
	ToolsChanged     EventKind = "tools_changed"     // the server says its tools are others
	ResourcesChanged EventKind = "resources_changed" // the same of resources and templates
	PromptsChanged   EventKind = "prompts_changed"   // the same of prompts
	Said             EventKind = "said"              // the server sent a notification that belongs to no call
)

// Event tells what happened to one server.
type Event struct {
	Server string
	Kind   EventKind
	// Method and Params are what the server Said.
	Method string
	Params json.RawMessage
	// Asker is whose own session is Ready, or it was Said in; "" if the session is shared.
	Asker string
}

// State is the condition of a server as people read it.
type State string

// The states of a server.
const (
	StateReady      State = "ready"
	StateAsleep     State = "asleep"
	StateStarting   State = "starting"
	StateNeedsLogin State = "needs login"
	StateFailing    State = "failing"
	StateDisabled   State = "disabled"
)

// Request is one request to one server.
type Request struct {
	Server string
	Method string
	// Params is a JSON object or nil. It reaches the server byte for byte, but for line breaks between
	// its tokens and for _meta.
	Params json.RawMessage
	// Idempotent requests are sent again once if the session is lost while they run.
	Idempotent bool
	// Timeout bounds the call, waiting for the server included; 0 is the server's.
	Timeout time.Duration
	// Progress hears the params of each progress notification without the token, one after the other,
	// never after Do returned, which waits for it; nil asks for none.
	Progress func(params json.RawMessage)
	// Meta is a JSON object whose members are put into params._meta as they are; a progressToken in it is left out.
	Meta json.RawMessage
	// Told hears the server's notifications that belong to this request other than progress, in order, never after
	// the call returned, none lost that came before the result; nil: not wanted.
	Told func(method string, params json.RawMessage)
	// Ask puts a request of the server to the agent and gives the raw result; an error that is a *RPCError is
	// the agent's own. Nil: the agent can't be asked.
	Ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	// Capabilities is what the agent can do, as it said it; nil if it said nothing.
	Capabilities json.RawMessage
	// Asker identifies the agent on a connection that several share; "" is nobody in particular.
	Asker string
	// Relay passes a result that asks for input on as it is, instead of asking for the inputs with Ask.
	Relay bool
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Redact == nil {
		o.Redact = func(_, text string) string { return text }
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.PingEvery == 0 {
		o.PingEvery = defaultPingEvery
	}
	if o.ClientInfo.Name == "" {
		o.ClientInfo = ClientInfo{Name: "proxy-dispatch", Version: "0"}
	}
	if o.AskTimeout <= 0 {
		o.AskTimeout = defaultAskTimeout
	}
	if o.MaxAgents <= 0 {
		o.MaxAgents = defaultMaxAgents
	}
	if o.AgentIdle <= 0 {
		o.AgentIdle = defaultAgentIdle
	}
	return o
}

func (s Server) withDefaults() Server {
	if s.Timeout <= 0 {
		s.Timeout = defaultTimeout
	}
	if s.StartTimeout <= 0 {
		s.StartTimeout = defaultStartTimeout
	}
	if s.Describe == "" {
		s.Describe = s.Name
	}
	if s.Transport == "" && s.Command != "" {
		s.Transport = "stdio"
	}
	return s
}
