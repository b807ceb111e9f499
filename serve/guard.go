package serve

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/dispatch"
)

// guard turns away what a browser on a foreign page, or nobody we know, might send.
type guard struct {
	names   map[string]bool // hosts beside the loopback ones
	anyHost bool
	door    Doorkeeper      // nil: everybody is anonymous
	open    map[string]bool // paths that need no authentication; one that ends in / stands for all below it
	next    http.Handler
}

type agentKey struct{}

// agentOf is who sent the request of ctx, as far as its credential tells.
func agentOf(ctx context.Context) dispatch.Agent {
	a, _ := ctx.Value(agentKey{}).(dispatch.Agent)
	return a
}

// AgentOf is who sent the HTTP request that ctx belongs to, as the Doorkeeper said; the zero Agent if it said nothing.
func AgentOf(ctx context.Context) dispatch.Agent { return agentOf(ctx) }

// principalOf is the principal who sent the request of ctx, "" if anonymous.
func principalOf(ctx context.Context) string { return agentOf(ctx).Principal }

// ServeHTTP checks Host, then Origin, then who it is.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !g.hostAllowed(r.Host) {
		http.Error(w, "this host name is not served here", http.StatusForbidden)
		return
	}
	if !g.originAllowed(r.Header.Values("Origin")) {
		http.Error(w, "requests from this origin are refused", http.StatusForbidden)
		return
	}
	if g.door != nil && !g.isOpen(r.URL.Path) {
		agent, err := g.door.Enter(r)
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), agentKey{}, agent))
	}
	g.next.ServeHTTP(w, r)
}

func (g *guard) isOpen(path string) bool {
	for p := range g.open {
		if path == p || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

func (g *guard) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, challenge := g.door.Refuse(r, err)
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	words := "authentication is required"
	if status != http.StatusUnauthorized {
		words = strings.ToLower(http.StatusText(status))
	}
	http.Error(w, words, status)
}

func (g *guard) hostAllowed(host string) bool {
	name := hostName(host)
	return name != "" && (g.anyHost || g.ours(name))
}

func (g *guard) ours(name string) bool { return isLoopback(name) || g.names[name] }

// originAllowed accepts no origin at all (not a browser) and pages served by this machine.
func (g *guard) originAllowed(origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	u, err := url.Parse(origins[0])
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Scheme+"://"+u.Host != origins[0] {
		return false
	}
	name := hostName(u.Host)
	return name != "" && g.ours(name)
}

// hostName is host without its port, in lower case; "" if it is malformed.
func hostName(host string) string {
	u, err := url.Parse("//" + host)
	if err != nil || u.Host != host || u.Path != "" {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// isLoopback says whether a host name or address can only mean this machine.
func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// listenHost is the host of an address to listen on, "" for all interfaces.
func listenHost(addr string) (string, error) {
	host, _, err := net.SplitHostPort(addr)
	if ip, bad := netip.ParseAddr(host); bad == nil && ip.IsUnspecified() {
		host = ""
	}
	return strings.ToLower(host), err
}
