package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/view"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/serve/proxyface"
	"github.com/proxy-dispatch/proxy-dispatch/serve/viewface"
)

// faceNames are the faces that have a path of their own over HTTP, /mcp/NAME. One that looks long for what it may not have
// stands at the end.
var faceNames = []string{"dispatch", "proxy", "transparent"}

// face makes the face of a name.
func (p *program) face(name string) (serve.Face, error) {
	switch name {
	case "dispatch":
		return serve.DispatchFace(p.dispatcher), nil
	case "proxy":
		return proxyface.New(proxyOptions(p))
	case "transparent":
		return p.transparentFace(), nil
	}
	return nil, fmt.Errorf("there is no face %q", name)
}

func proxyOptions(p *program) proxyface.Options {
	return proxyface.Options{Dispatcher: p.dispatcher, ToolName: p.cfg.Proxy.ToolName, StringArguments: p.cfg.Definition.Arguments == "string",
		Prefix: func(server string) string { return p.inForce.Load().Prefix(server) }}
}

// faces makes what agents see: the exposed faces as one, and each by its path over HTTP.
func (p *program) faces(exposed []string) (serve.Face, map[string]serve.Face, error) {
	if len(exposed) == 0 {
		exposed = []string{"dispatch"}
	}
	var shown []serve.Face
	paths := map[string]serve.Face{}
	for _, name := range faceNames {
		f, err := p.face(name)
		if err != nil {
			return nil, nil, err
		}
		paths["/mcp/"+name] = p.lobby.behind(f)
		if slices.Contains(exposed, name) {
			shown = append(shown, f)
		}
	}
	for i := range p.cfg.Views {
		v := &p.cfg.Views[i]
		f := p.viewFace(v)
		paths["/view/"+v.Name+"/mcp"] = p.lobby.behind(f)
		if slices.Contains(exposed, "view:"+v.Name) {
			shown = append(shown, f)
		}
	}
	paths["/mcp"] = p.lobby.behind(serve.Several(shown...))
	return paths["/mcp"], paths, nil
}

// viewFace makes the face of a tool view, which tells agents of changes.
func (p *program) viewFace(v *config.View) serve.Face {
	o := viewface.Options{Dispatcher: p.dispatcher, View: v.Name, Definition: v.Definition, Log: p.log}
	direct := v.Exposure == "" || v.Exposure == view.Direct // whose agents are told when the tools change
	if direct || v.Exposure != view.Dispatch && (v.IncludeAll || len(v.Resources)+len(v.Prompts) > 0) {
		o.Rest = p.restFace()
	}
	return viewface.New(o)
}

// checkViews refuses views that the configuration lacks.
func checkViews(cfg *config.Config, exposed []string) error {
	for _, face := range exposed {
		if name, ok := strings.CutPrefix(face, "view:"); ok && cfg.View(name) == nil {
			return noView(cfg, name)
		}
	}
	return nil
}

func noView(cfg *config.Config, name string) error {
	if len(cfg.Views) == 0 {
		return usage("there is no view %q: the configuration has none", name)
	}
	var names []string
	for _, v := range cfg.Views {
		names = append(names, v.Name)
	}
	return usage("there is no view %q; views: %s", name, strings.Join(names, ", "))
}

// exposed are the faces that the flag names, else the configuration.
func (s *serving) exposed(cfg *config.Config) []string {
	switch {
	case s.view != "":
		return []string{"view:" + s.view}
	case len(s.expose) > 0:
		return s.expose
	}
	return cfg.Expose
}

// checkFaces refuses faces that do not exist.
func (s *serving) checkFaces() error {
	if s.view != "" && len(s.expose) > 0 {
		return usage("give --view or --expose, not both")
	}
	for _, face := range s.expose {
		switch {
		case config.HasFace(face), strings.HasPrefix(face, "view:"):
		default:
			return usage("--expose: there is no face %q; faces: %s", face, strings.Join(faceNames, ", "))
		}
	}
	return nil
}
