package config

import (
	"net/http"
	"slices"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/variable"
)

// oauth reads how to log in to a server. What clients write there is left alone as far as it is not ours.
func (f *fields) oauth() OAuth {
	_, n := f.take("oauth")
	if n == nil || n.Kind != notation.Mapping {
		if n != nil && !n.AsksNothing() {
			f.ignore(n.Line, f.where+"oauth", "it has no meaning here")
		}
		return OAuth{}
	}
	o := f.mapping(n, f.where+"oauth.")
	out := OAuth{
		ClientID: o.text("clientId"), ClientSecret: o.text("clientSecret"), ClientMetadataURL: o.text("clientMetadataUrl"),
		Scopes: o.texts("scopes"), RedirectPort: int(o.count("redirectPort", 1, 65535)),
		PrivateKeyFile: o.path("privateKeyFile"), AssertionFile: o.path("assertionFile"),
	}
	if _, n := o.take("identityProvider"); n != nil {
		out.IdentityProvider = o.identity(n)
	}
	grant := o.enum("grant", "authorization_code", "client_credentials", "jwt_bearer")
	out.ClientCredentials = grant == "client_credentials"
	switch {
	case f.lost:
	case out.ClientCredentials && (out.ClientID == "" || out.ClientSecret == "" && out.PrivateKeyFile == ""):
		f.add(n.Line, "%soauth: client_credentials needs clientId and clientSecret or privateKeyFile", f.where)
	case (grant == "jwt_bearer") != (out.AssertionFile != ""):
		f.add(n.Line, "%soauth: the grant jwt_bearer and assertionFile need each other", f.where)
	}
	o.done()
	return out
}

func (f *fields) identity(n *notation.Node) Identity {
	p := f.mapping(n, f.where+"identityProvider.")
	out := Identity{TokenURL: p.text("tokenUrl"), ClientID: p.text("clientId"), ClientSecret: p.text("clientSecret")}
	if (out.TokenURL == "" || out.ClientID == "") && !f.lost {
		f.add(n.Line, "%sidentityProvider needs tokenUrl and clientId", f.where)
	}
	p.done()
	return out
}

func (w writer) oauth(n *notation.Node, o OAuth, secret func(string) string) {
	w.section(n, "oauth", func(n *notation.Node) {
		w.string(n, "clientId", o.ClientID)
		if o.ClientSecret != "" {
			n.Put("clientSecret", notation.NewText(variable.Escape(secret(o.ClientSecret))))
		}
		w.string(n, "clientMetadataUrl", o.ClientMetadataURL)
		w.list(n, "scopes", o.Scopes)
		w.string(n, "privateKeyFile", o.PrivateKeyFile)
		w.string(n, "assertionFile", o.AssertionFile)
		switch {
		case o.ClientCredentials:
			w.string(n, "grant", "client_credentials")
		case o.AssertionFile != "":
			w.string(n, "grant", "jwt_bearer")
		}
		w.section(n, "identityProvider", func(n *notation.Node) {
			w.string(n, "tokenUrl", o.IdentityProvider.TokenURL)
			w.string(n, "clientId", o.IdentityProvider.ClientID)
			if s := o.IdentityProvider.ClientSecret; s != "" {
				n.Put("clientSecret", notation.NewText(variable.Escape(secret(s))))
			}
		})
		w.number(n, "redirectPort", int64(o.RedirectPort))
	})
}

// claims reads which claims of agents a server is told, by header.
func (f *fields) claims() map[string]string {
	_, n := f.take("claims")
	if n == nil {
		return nil
	}
	c := f.mapping(n, f.where+"claims.")
	out := map[string]string{}
	if c.node == nil {
		return nil
	}
	for _, m := range c.node.Members {
		name := c.literal(m.Key)
		switch {
		case !isHeaderName(m.Key) || slices.Contains(ownHeaders, http.CanonicalHeaderKey(m.Key)):
			f.add(m.Line, "%sclaims: %q is no header that can be set", f.where, m.Key)
		case name == "":
			f.add(m.Line, "%sclaims.%s names no claim", f.where, m.Key)
		default:
			out[http.CanonicalHeaderKey(m.Key)] = name
		}
	}
	c.done()
	return out
}

// ownHeaders are those that a request means something by.
var ownHeaders = []string{"Authorization", "Content-Type", "Content-Length", "Accept", "Host", "Cookie", "Connection", "Transfer-Encoding", "Mcp-Session-Id", "Mcp-Protocol-Version"}
