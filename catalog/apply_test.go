package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func tell(s *Snapshot) string {
	var all []string
	for _, x := range s.Servers {
		all = append(all, fmt.Sprintf("%s=%s:%v:%s", x.Alias, x.Name, x.Known, names(x)))
	}
	return strings.Join(all, " ")
}

func TestApply(t *testing.T) {
	f := &fake{hellos: map[string]string{"a": toolsOnly, "b": toolsOnly, "n": toolsOnly}, answers: map[string]func(string) (string, error){
		"a tools/list": tools("one"), "b tools/list": tools("two"), "n tools/list": tools("three"),
	}}
	c := start(t, f, Options{CacheDir: t.TempDir()}, "a", "b")
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	same := func(names ...string) (out []ServerOptions) {
		for _, n := range names {
			out = append(out, ServerOptions{Name: n, ID: "id-of-" + n})
		}
		return out
	}
	steps := []struct {
		name  string
		apply []ServerOptions
		want  string
	}{
		{"another order", same("b", "a"), "c1=b:true:two c2=a:true:one"},
		{"one more", same("b", "n", "a"), "c1=b:true:two c2=n:false: c3=a:true:one"},
		{"one less", same("a"), "c1=a:true:one"},
		{"back again, from the disk cache", same("b", "a"), "c1=b:true:two c2=a:true:one"},
		{"changed", []ServerOptions{{Name: "a", ID: "other"}}, "c1=a:false:"},
		{"disabled", []ServerOptions{{Name: "a", ID: "other", Disabled: true}}, "c1=a:false:"},
		{"none", nil, ""},
	}
	for _, step := range steps {
		c.Apply(step.apply)
		if got := tell(c.Snapshot()); got != step.want {
			t.Errorf("%s: got %s, want %s", step.name, got, step.want)
		}
	}
	if err := c.Refresh(t.Context(), "a"); !errors.Is(err, ErrUnknownServer) {
		t.Errorf("a server taken out: got %v, want ErrUnknownServer", err)
	}
}

// TestApplyDuringRefresh: what a server says that was taken out or changed meanwhile comes too late.
func TestApplyDuringRefresh(t *testing.T) {
	cases := []struct {
		name  string
		apply []ServerOptions
		want  string
	}{
		{"taken out", nil, ""},
		{"changed", []ServerOptions{{Name: "a", ID: "new"}}, "c1=a:false:"},
		{"moved", []ServerOptions{{Name: "z", ID: "z"}, {Name: "a", ID: "id-of-a"}}, "c1=z:false: c2=a:true:one"},
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{delay: time.Second, hellos: map[string]string{"a": toolsOnly}, answers: map[string]func(string) (string, error){"a tools/list": tools("one")}}
				c := start(t, f, Options{}, "a")
				done := make(chan error, 1)
				go func() { done <- c.Refresh(context.Background(), "a") }()
				synctest.Wait()
				c.Apply(tt.apply)
				<-done
				if got := tell(c.Snapshot()); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			})
		})
	}
}

func TestRepublish(t *testing.T) {
	c := start(t, &fake{}, Options{}, "a")
	before, told := c.Snapshot(), 0
	c.Watch(func(*Snapshot) { told++ })
	c.Republish()
	if after := c.Snapshot(); after == before || after.Gen != before.Gen+1 || after.Hash != before.Hash || told != 1 {
		t.Errorf("got generation %d after %d, hash %s after %s, told %d", after.Gen, before.Gen, after.Hash, before.Hash, told)
	}
}
