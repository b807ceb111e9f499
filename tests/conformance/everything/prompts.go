package everything

import "strings"

func (s *state) promptEntries() []string {
	list := []string{
		`{"name":"test_simple_prompt","description":"A prompt without arguments."}`,
		`{"name":"test_prompt_with_arguments","title":"With arguments","description":"A prompt with two arguments.","arguments":[{"name":"arg1","description":"First test argument","required":true},{"name":"arg2","description":"Second test argument","required":true}]}`,
		`{"name":"test_prompt_with_embedded_resource","description":"A prompt that holds a resource.","arguments":[{"name":"resourceUri","description":"URI of the resource to embed","required":true}]}`,
		`{"name":"test_prompt_with_image","description":"A prompt that holds an image."}`,
		`{"name":"test_input_required_result_prompt","description":"A prompt that needs to know something first."}`,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prompts {
		list = append(list, `{"name":"test_dynamic_prompt","description":"Comes and goes."}`)
	}
	return list
}

func said(blocks ...string) string {
	var list []string
	for _, b := range blocks {
		list = append(list, `{"role":"user","content":`+b+`}`)
	}
	return `{"messages":[` + strings.Join(list, ",") + `]}`
}

func textBlock(s string) string { return `{"type":"text","text":` + quote(s) + `}` }

func (x *exchange) getPrompt() (string, error) {
	var args struct{ Arg1, Arg2, ResourceURI string }
	if err := x.into(&args); err != nil {
		return "", err
	}
	switch x.p.Name {
	case "test_simple_prompt", "test_dynamic_prompt":
		return said(textBlock("This is a simple prompt for testing.")), nil
	case "test_prompt_with_arguments":
		return said(textBlock("Prompt with arguments: arg1='" + args.Arg1 + "', arg2='" + args.Arg2 + "'")), nil
	case "test_prompt_with_embedded_resource":
		return said(`{"type":"resource","resource":{"uri":`+quote(args.ResourceURI)+`,"mimeType":"text/plain","text":"Embedded resource content for testing."}}`,
			textBlock("Please process the embedded resource above.")), nil
	case "test_prompt_with_image":
		return said(imageBlock, textBlock("Please analyze the image above.")), nil
	case "test_input_required_result_prompt":
		got, err := x.ask(form("user_context", "What context should the prompt use?", `"context":{"type":"string"}`, "context"))
		if err != nil {
			return "", err
		}
		return said(textBlock("In the context of " + contentOf(got["user_context"], "context") + ".")), nil
	}
	return "", invalid("unknown prompt %q", x.p.Name)
}

var completions = []string{"paris", "park", "party", "test-one", "test-two"}

func (x *exchange) complete() (string, error) {
	switch {
	case x.p.Ref.Type == "ref/prompt" && x.p.Ref.Name != "":
	case x.p.Ref.Type == "ref/resource" && x.p.Ref.URI != "":
	default:
		return "", invalid("ref must name a prompt or a resource template")
	}
	var fit []string
	for _, c := range completions {
		if strings.HasPrefix(c, x.p.Argument.Value) {
			fit = append(fit, quote(c))
		}
	}
	return `{"completion":{"values":[` + strings.Join(fit, ",") + `],"hasMore":false}}`, nil
}
