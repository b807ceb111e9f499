package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/control"
)

// reloadable are the parts of a configuration that a running proxy takes over. Everything else needs a restart.
var reloadable = []string{"Path", "Servers", "Tools", "Pin", "Flow", "Auth", "Ignored", "Views", "ViewsKey", "Hooks", "Composites", "Custom"}

// reload reads the configuration again and applies what differs. If it is faulty, nothing changes.
func (p *program) reload(load func() (*config.Config, error)) (control.Report, error) {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	next, err := load()
	if err != nil {
		return control.Report{}, fmt.Errorf("the configuration stays as it is: %w", err)
	}
	return p.apply(next)
}

// apply puts a configuration in force, whole or not at all. p.reloading is held.
func (p *program) apply(next *config.Config) (control.Report, error) {
	old := p.inForce.Load()
	report := difference(old, next)
	var door *doorRules
	if p.door != nil && next.Auth.On {
		var err error
		if door, err = p.door.compile(next); err != nil {
			return control.Report{}, err
		}
	}
	if next.Pin != "" && next.Pin != config.PinOff && p.trusted == nil {
		return control.Report{}, errors.New("the configuration stays as it is: tools.pin needs a restart")
	}
	p.redactor.add(next) // before anything of it can be logged
	shaping := p.shaping
	if !old.SameShape(next) {
		var err error
		if shaping, err = p.shape(next); err != nil {
			return control.Report{}, fmt.Errorf("the configuration stays as it is: %w", err)
		}
	}
	changed := shaping != p.shaping || !reflect.DeepEqual(rulesData(old), rulesData(next))
	if changed {
		if err := p.dispatcher.Apply(p.rulebookOf(next, shaping)); err != nil {
			return control.Report{}, fmt.Errorf("the configuration stays as it is: %w", errors.Join(err, p.keep(shaping)))
		}
	}
	fleet, known := p.servers(next)
	if err := p.fleet.Apply(fleet); err != nil {
		if changed {
			err = errors.Join(err, p.dispatcher.Apply(p.rulebookOf(old, p.shaping)), p.keep(shaping))
		}
		return control.Report{}, fmt.Errorf("the configuration stays as it is: %w", err)
	}
	p.inForce.Store(next)
	p.catalog.Apply(known)
	if shaping != p.shaping {
		gone := p.shaping
		p.shaping = shaping
		if err := gone.Close(); err != nil {
			p.log.Warn("close the hooks of before", "error", err)
		}
	}
	if door != nil {
		p.door.rules.Store(door)
	}
	for _, s := range next.Servers {
		fresh := slices.Contains(report.Added, s.Name) || slices.Contains(report.Changed, s.Name)
		if fresh && !s.Lazy && !s.Disabled {
			p.catalog.Schedule(s.Name)
		}
	}
	return report, nil
}

// keep closes what was made of a configuration that is not put in force.
func (p *program) keep(made *shaping) error {
	if made == p.shaping {
		return nil
	}
	return made.Close()
}

// sameForms reports whether two configurations have the same views in the same forms: what a running proxy shows under
// which paths.
func sameForms(a, b *config.Config) bool {
	return slices.EqualFunc(a.Views, b.Views, func(x, y config.View) bool {
		return x.Name == y.Name && x.Exposure == y.Exposure && x.Spill == y.Spill && x.Description == y.Description
	})
}

// difference tells what a change of the configuration changes.
func difference(old, next *config.Config) (r control.Report) {
	of := func(c *config.Config, name string) *config.Server {
		i := slices.IndexFunc(c.Servers, func(s config.Server) bool { return s.Name == name })
		if i < 0 {
			return nil
		}
		s := c.Servers[i]
		s.Line = 0 // where it stands is no change
		return &s
	}
	for _, s := range next.Servers {
		switch before := of(old, s.Name); {
		case before == nil:
			r.Added = append(r.Added, s.Name)
		case !reflect.DeepEqual(before, of(next, s.Name)):
			r.Changed = append(r.Changed, s.Name)
		}
	}
	for _, s := range old.Servers {
		if of(next, s.Name) == nil {
			r.Removed = append(r.Removed, s.Name)
		}
	}
	a, b := reflect.ValueOf(old).Elem(), reflect.ValueOf(next).Elem()
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if f.IsExported() && !slices.Contains(reloadable, f.Name) && !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			r.NeedsRestart = append(r.NeedsRestart, keyOf(f.Name))
		}
	}
	if !sameForms(old, next) {
		r.NeedsRestart = append(r.NeedsRestart, "views")
	}
	if old.Auth.On != next.Auth.On || old.Auth.Tokens != next.Auth.Tokens {
		r.NeedsRestart = append(r.NeedsRestart, "auth")
	}
	return r
}

// keyOf is the configuration's spelling of a field.
func keyOf(field string) string {
	if strings.ToUpper(field) == field {
		return strings.ToLower(field)
	}
	first, size := utf8.DecodeRuneInString(field)
	return string(unicode.ToLower(first)) + field[size:]
}

// rulesData is what the rulebook of a configuration is made of.
func rulesData(c *config.Config) any {
	type ofServer struct {
		Name, Description string
		Tools             config.Tools
		ReadOnly          bool
		Keywords          []string
		OfTools           []config.ToolKeywords
	}
	var servers []ofServer
	for _, s := range c.Servers {
		o := ofServer{s.Name, s.Description, s.Tools, s.ReadOnly, s.Keywords, s.OfTools}
		if !reflect.DeepEqual(o, ofServer{Name: s.Name}) {
			servers = append(servers, o)
		}
	}
	return []any{c.Tools, c.Pin, c.Flow, servers}
}
