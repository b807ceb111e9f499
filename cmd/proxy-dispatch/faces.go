package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/serve"
	"github.com/proxy-dispatch/proxy-dispatch/serve/proxyface"
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
	o := proxyface.Options{Dispatcher: p.dispatcher, ToolName: p.cfg.Proxy.ToolName, Prefixes: map[string]string{},
		StringArguments: p.cfg.Definition.Arguments == "string"}
	for i := range p.cfg.Servers {
		o.Prefixes[p.cfg.Servers[i].Name] = p.cfg.Prefix(&p.cfg.Servers[i])
	}
	return o
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
	paths["/mcp"] = p.lobby.behind(serve.Several(shown...))
	return paths["/mcp"], paths, nil
}

// exposed are the faces that the flag names, else the configuration.
func (s *serving) exposed(cfg *config.Config) []string {
	if len(s.expose) > 0 {
		return s.expose
	}
	return cfg.Expose
}

// checkFaces refuses faces that do not exist.
func (s *serving) checkFaces() error {
	if s.view != "" {
		return usage("--view is not available yet")
	}
	for _, face := range s.expose {
		switch {
		case config.HasFace(face):
		case strings.HasPrefix(face, "view:"):
			return usage("--expose %s is not available yet", face)
		default:
			return usage("--expose: there is no face %q; faces: %s", face, strings.Join(faceNames, ", "))
		}
	}
	return nil
}
