package config

import (
	"math"
	"slices"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/serve/auth"
)

// Auth says who may come in over HTTP, and with which rights.
type Auth struct {
	On bool // the key is there: nobody comes in without a credential
	// Tokens is the file of hashed tokens; "" = tokens.json in the user's configuration folder.
	Tokens   string
	Resource string // the address agents ask a token for; "" = the one they came to
	Issuers  []Issuer
	Roles    []Role // in file order; none = everybody who comes in has all rights
}

// Issuer is an OAuth issuer whose access tokens count.
type Issuer struct {
	URL, Audience, Keys, Principal string
	Algorithms, Scopes             []string
	Skew                           time.Duration
}

// Role is a set of rights. It is had by the tokens made for it, by the principals and scopes it names, and, if it is
// called default, by everybody who has no other.
type Role struct {
	Name       string
	Principals []string // globs
	Scopes     []string // any of them, of an issuer's token

	Servers  []string // globs; empty = all
	Tools    Tools
	ReadOnly bool
	View     string   // what it sees on every face; "" = everything
	Views    []string // globs of the views it may open by path; empty with View = that one, else all

	PerMinute  int // requests; 0 = without limit
	Concurrent int // requests at once; 0 = without limit
	SpillBytes int64
	SpillFiles int
}

// DefaultRole is the name of the role of those who have no other.
const DefaultRole = "default"

func (d *decoder) auth(f *fields) {
	_, n := f.take("auth")
	if n == nil || n.Kind == notation.Bool && n.Text == "false" {
		return
	}
	a := d.mapping(n, "auth.")
	d.out.Auth = Auth{On: true, Tokens: a.path("tokens"), Resource: a.text("resource")}
	_, issuers := a.take("issuers", "issuer")
	d.out.Auth.Issuers = d.issuers(issuers)
	_, roles := a.take("roles")
	if roles != nil {
		d.mapping(roles, "auth.roles.")
		for _, m := range roles.Members {
			d.out.Auth.Roles = append(d.out.Auth.Roles, d.role(m))
		}
	}
	a.done()
}

func (d *decoder) issuers(n *notation.Node) []Issuer {
	if n == nil {
		return nil
	}
	items := n.Items
	if n.Kind != notation.List {
		items = []*notation.Node{n}
	}
	var out []Issuer
	for _, item := range items {
		f := d.mapping(item, "auth.issuers.")
		i := Issuer{
			URL: f.text("url"), Audience: f.text("audience"), Keys: f.text("keys"), Principal: f.text("principal"),
			Algorithms: f.texts("algorithms"), Scopes: f.texts("scopes"), Skew: f.duration("skew"),
		}
		f.done()
		if _, err := auth.NewIssuer(i.Options()); err != nil && item.Kind == notation.Mapping {
			d.add(item.Line, "auth.issuers: %v", err)
		}
		if slices.ContainsFunc(out, func(o Issuer) bool { return o.URL == i.URL }) {
			d.add(item.Line, "auth.issuers: %s is there twice", i.URL)
		}
		out = append(out, i)
	}
	return out
}

// Options are the options of the room that checks the issuer's tokens.
func (i Issuer) Options() auth.IssuerOptions {
	return auth.IssuerOptions{URL: i.URL, Audience: i.Audience, KeysURL: i.Keys, Claim: i.Principal, Algorithms: i.Algorithms, Scopes: i.Scopes, Skew: i.Skew}
}

func (d *decoder) role(m notation.Member) Role {
	where := "auth.roles." + m.Key + "."
	f := d.mapping(m.Value, where)
	r := Role{
		Name: m.Key, Principals: f.globs("principals"), Scopes: f.texts("scopes"),
		Servers: f.globs("servers"), ReadOnly: f.bool("readOnly"), View: f.text("view"), Views: f.globs("views"),
		PerMinute: int(f.count("perMinute", 1, math.MaxInt32)), Concurrent: int(f.count("concurrent", 1, math.MaxInt32)),
		SpillBytes: f.count("spillBytes", 1, math.MaxInt64), SpillFiles: int(f.count("spillFiles", 1, math.MaxInt32)),
	}
	_, tools := f.take("tools")
	t := d.mapping(tools, where+"tools.")
	r.Tools = Tools{Allow: t.globs("allow"), Deny: t.globs("deny")}
	t.done()
	f.done()
	return r
}

func (w writer) auth(n *notation.Node, a *Auth) {
	if !a.On {
		return
	}
	inner := &notation.Node{Kind: notation.Mapping}
	w.string(inner, "tokens", a.Tokens)
	w.string(inner, "resource", a.Resource)
	if len(a.Issuers) > 0 {
		list := &notation.Node{Kind: notation.List}
		for _, i := range a.Issuers {
			item := &notation.Node{Kind: notation.Mapping}
			w.string(item, "url", i.URL)
			w.string(item, "audience", i.Audience)
			w.string(item, "keys", i.Keys)
			w.string(item, "principal", i.Principal)
			w.list(item, "algorithms", i.Algorithms)
			w.list(item, "scopes", i.Scopes)
			w.duration(item, "skew", i.Skew)
			list.Items = append(list.Items, item)
		}
		inner.Put("issuers", list)
	}
	w.section(inner, "roles", func(n *notation.Node) {
		for _, r := range a.Roles {
			role := &notation.Node{Kind: notation.Mapping}
			w.role(role, r)
			n.Put(r.Name, role)
		}
	})
	n.Put("auth", inner)
}

func (w writer) role(n *notation.Node, r Role) {
	w.list(n, "principals", r.Principals)
	w.list(n, "scopes", r.Scopes)
	w.list(n, "servers", r.Servers)
	w.tools(n, r.Tools)
	w.flag(n, "readOnly", r.ReadOnly)
	w.string(n, "view", r.View)
	w.list(n, "views", r.Views)
	w.number(n, "perMinute", int64(r.PerMinute))
	w.number(n, "concurrent", int64(r.Concurrent))
	w.number(n, "spillBytes", r.SpillBytes)
	w.number(n, "spillFiles", int64(r.SpillFiles))
}
