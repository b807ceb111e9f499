package serve

import (
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// link is what mcp-go knows of an agent on stdio. It is safe for concurrent use.
type link struct {
	id            string
	notifications chan mcp.JSONRPCNotification

	mu           sync.Mutex
	initialized  bool
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
}

func newLink(id string) *link {
	return &link{id: id, notifications: make(chan mcp.JSONRPCNotification, 16)}
}

// SessionID is random per connection.
func (l *link) SessionID() string { return l.id }

// NotificationChannel is read only while subscriptions/listen runs.
func (l *link) NotificationChannel() chan<- mcp.JSONRPCNotification { return l.notifications }

// Initialize marks the handshake as done.
func (l *link) Initialize() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.initialized = true
}

// Initialized says whether the handshake is done.
func (l *link) Initialized() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.initialized
}

// GetClientInfo is what the agent said of itself, zero before it did.
func (l *link) GetClientInfo() mcp.Implementation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.info
}

// SetClientInfo keeps what the agent says of itself.
func (l *link) SetClientInfo(info mcp.Implementation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.info = info
}

// GetClientCapabilities is what the agent can do, zero before it said so.
func (l *link) GetClientCapabilities() mcp.ClientCapabilities {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.capabilities
}

// SetClientCapabilities keeps what the agent can do.
func (l *link) SetClientCapabilities(capabilities mcp.ClientCapabilities) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.capabilities = capabilities
}
