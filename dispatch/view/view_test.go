package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/catalog"
)

// snapshot is a small catalog: files has names that contain separators, mail shares a name with it.
func snapshot(t testing.TB) *catalog.Snapshot {
	t.Helper()
	s := &catalog.Snapshot{Gen: 1}
	for i, srv := range []struct {
		name  string
		tools []string
	}{
		{"files", []string{"read", "write", "admin/wipe", "mail__draft"}},
		{"mail", []string{"send", "read", "draft"}},
		{"my.server", []string{"tool.one", "x"}},
	} {
		server := &catalog.Server{Name: srv.name, Alias: fmt.Sprintf("c%d", i+1), Known: true}
		for _, name := range srv.tools {
			raw := json.RawMessage(fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":%t}}`, name, name == "read"))
			e, err := catalog.NewEntry(srv.name, catalog.Tool, false, raw)
			if err != nil {
				t.Fatal(err)
			}
			server.Entries = append(server.Entries, e)
		}
		s.Servers = append(s.Servers, server)
	}
	return s
}

func TestResolve(t *testing.T) {
	rules := Rules{Deny: []string{"mail/draft"}, Servers: map[string]ServerRules{"files": {Deny: []string{"admin/*"}}}}
	policy, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	v := policy.Over(snapshot(t))
	for _, tc := range []struct {
		name, in, server string
		want             string
		err              error
		ambiguous        []string
	}{
		{name: "own name", in: "send", want: "mail/send"},
		{name: "slash", in: "files/read", want: "files/read"},
		{name: "alias", in: "c2/read", want: "mail/read"},
		{name: "underscores", in: "mail__read", want: "mail/read"},
		{name: "colons", in: "mail::send", want: "mail/send"},
		{name: "dot", in: "mail.send", want: "mail/send"},
		{name: "default", in: "default/write", want: "files/write"},
		{name: "primary", in: "primary/write", want: "files/write"},
		{name: "dots in both", in: "my.server.tool.one", want: "my.server/tool.one"},
		{name: "own name with a separator", in: "mail__draft", want: "files/mail__draft"},
		{name: "connection given", in: "read", server: "mail", want: "mail/read"},
		{name: "connection and prefix agree", in: "mail/read", server: "mail", want: "mail/read"},
		{name: "connection and prefix differ", in: "files/read", server: "mail", err: ErrUnknown},
		{name: "shared name", in: "read", ambiguous: []string{"files/read", "mail/read"}},
		{name: "unknown", in: "nothing", err: ErrUnknown},
		{name: "empty", in: "", err: ErrUnknown},
		{name: "only a prefix", in: "mail/", err: ErrUnknown},
		{name: "denied by a server's rule", in: "files/admin/wipe", err: ErrDenied},
		{name: "denied by the global rule", in: "mail/draft", err: ErrDenied},
		{name: "wrong case", in: "Send", err: ErrUnknown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, err := v.Resolve(catalog.Tool, tc.in, tc.server)
			if tc.ambiguous != nil {
				amb, ok := errors.AsType[*AmbiguousError](err)
				if !ok {
					t.Fatalf("got %v, want an AmbiguousError", err)
				}
				var got []string
				for _, r := range amb.Refs {
					got = append(got, r.String())
				}
				if d := cmp.Diff(tc.ambiguous, got); d != "" {
					t.Error(d)
				}
				return
			}
			if !errors.Is(err, tc.err) {
				t.Fatalf("got error %v, want %v", err, tc.err)
			}
			if err == nil && e.Ref.String() != tc.want {
				t.Errorf("got %s, want %s", e.Ref, tc.want)
			}
		})
	}
}

func TestRules(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rules Rules
		want  []string
	}{
		{"none", Rules{}, []string{"files/read", "files/write", "files/admin/wipe", "files/mail__draft", "mail/send", "mail/read", "mail/draft", "my.server/tool.one", "my.server/x"}},
		{"allow by name", Rules{Allow: []string{"read"}}, []string{"files/read", "mail/read"}},
		{"allow by connection", Rules{Allow: []string{"mail/*"}}, []string{"mail/send", "mail/read", "mail/draft"}},
		{"deny wins", Rules{Allow: []string{"mail/*"}, Deny: []string{"*/send"}}, []string{"mail/read", "mail/draft"}},
		{"read only", Rules{Allow: []string{"files/*"}, Servers: map[string]ServerRules{"files": {ReadOnly: true}}}, []string{"files/read"}},
		{"server's own allow", Rules{Deny: []string{"my.server/*"}, Servers: map[string]ServerRules{"files": {Allow: []string{"w*"}}, "mail": {Allow: []string{"{send,draft}"}}}},
			[]string{"files/write", "mail/send", "mail/draft"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, err := Compile(tc.rules)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range p.Over(snapshot(t)).Entries("", catalog.Tool) {
				got = append(got, e.Ref.String())
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestCompileNamesTheBadPattern(t *testing.T) {
	if _, err := Compile(Rules{Servers: map[string]ServerRules{"s": {Deny: []string{"[a"}}}}); err == nil {
		t.Fatal("got no error for an open bracket")
	}
}

// FuzzResolve holds that whatever a name resolves to is seen, and that its full name leads to it again.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"read", "files/read", "c1/admin/wipe", "a__b::c.d", "/", "__", "default/x"} {
		f.Add(s, "")
	}
	policy, err := Compile(Rules{Deny: []string{"*wipe"}})
	if err != nil {
		f.Fatal(err)
	}
	v := policy.Over(snapshot(f))
	f.Fuzz(func(t *testing.T, name, server string) {
		e, err := v.Resolve(catalog.Tool, name, server)
		if err != nil {
			return
		}
		if !slices.Contains(v.Entries(e.Server, catalog.Tool), e) {
			t.Errorf("%q resolves to %s, which is not seen", name, e.Ref)
		}
		again, err := v.Resolve(catalog.Tool, e.Ref.String(), "")
		if err != nil || again != e {
			t.Errorf("%s resolves to %v, %v", e.Ref, again, err)
		}
	})
}
