package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/proxy-dispatch/proxy-dispatch/client"
)

// proxy is a proxy in memory with a server "notes" behind it. A program has a client.Connection instead.
func proxy() (r client.Requester, end func()) {
	m, h, err := fixture("proxy")
	if err != nil {
		log.Fatal(err)
	}
	return m, func() { _ = h.Close() }
}

func ExampleClient_CallTool() {
	connection, end := proxy()
	defer end()
	ctx := context.Background()

	c := client.New(connection, client.Options{Whole: true})
	result, err := c.CallTool(ctx, client.Call{Name: "notes_add", Arguments: map[string]any{"a": 5, "b": 3}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(mcp.TextContent).Text, result.IsError)
	fmt.Println(string(result.Raw))
	// Output:
	// 8 false
	// {"content":[{"type":"text","text":"8"}],"structuredContent":{"sum":8}}
}

func ExampleClient_ListTools() {
	connection, end := proxy()
	defer end()
	ctx := context.Background()

	c := client.New(connection, client.Options{PageSize: 50})
	tools, err := c.ListTools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range tools[:2] {
		fmt.Println(tool.Name, "-", tool.Description)
	}
	resources, err := c.ListResources(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range resources {
		if r.Template != nil {
			fmt.Println("template", r.Template.URITemplate.Raw())
		}
	}
	// Output:
	// notes_echo - Says a message back.
	// notes_add - Adds two numbers.
	// template note://user/{name}
}

func ExampleClient_ReadResource() {
	connection, end := proxy()
	defer end()
	ctx := context.Background()

	c := client.New(connection, client.Options{})
	page, err := c.ReadResource(ctx, "note://1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(page.Contents[0].(mcp.TextResourceContents).Text)

	prompt, err := c.GetPrompt(ctx, client.Call{Name: "notes_greet", Arguments: map[string]string{"who": "Ada"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range prompt.Messages {
		fmt.Println(m.Role, m.Content.(mcp.TextContent).Text)
	}
	// Output:
	// first note
	// user Greet Ada.
	// assistant Hello.
}

func ExampleClient_Proxy() {
	connection, end := proxy()
	defer end()
	ctx := context.Background()

	c := client.New(connection, client.Options{})
	answer, err := c.Proxy(ctx, client.Operation{Action: client.ActionList, Type: client.TypeTool, Limit: 1, FilterServer: "notes_"})
	if err != nil {
		log.Fatal(err)
	}
	about := answer.About()
	fmt.Println(about.Action, about.Type, about.PythonType, about.Many, about.TotalCount)

	entries, err := answer.JSON()
	if err != nil {
		log.Fatal(err)
	}
	var tools []struct{ Name string }
	if err := json.Unmarshal(entries, &tools); err != nil {
		log.Fatal(err)
	}
	fmt.Println(tools[0].Name)

	_, err = c.Proxy(ctx, client.Operation{Action: client.ActionCall, Type: client.TypeTool})
	fmt.Println(err)
	// Output:
	// list tool Tool true 7
	// notes_echo
	// invalid operation: Path is required for call
}

func ExampleResult_Steps() {
	connection, end := proxy()
	defer end()
	ctx := context.Background()

	c := client.New(connection, client.Options{})
	answer, err := c.Proxy(ctx, client.Operation{Action: client.ActionBatch, Type: client.TypeTool, Operations: []client.Operation{
		{Action: client.ActionCall, Path: "notes_add", Arguments: map[string]int{"a": 1, "b": 2}},
		{Action: client.ActionCall, Path: "notes_fail"},
	}})
	if err != nil {
		log.Fatal(err)
	}
	steps, err := answer.Steps()
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range steps {
		fmt.Println(s.ID, string(s.Structured), s.Err())
	}
	// Output:
	// 0 {"sum":3} <nil>
	// 1  disk on fire
}

func ExampleDetect() {
	entry := json.RawMessage(`{"name":"mcp:proxy","inputSchema":{"type":"object","properties":
		{"action":{"type":"string","enum":["list","info","call"]},"type":{"type":"string"},"path":{"type":"string"}}}}`)
	tool, found := client.Detect([]json.RawMessage{entry})
	fmt.Println(tool.Name, tool.Kind, found)
	// Output: mcp:proxy proxy true
}

func Example_overStdio() {
	run := func(ctx context.Context) error {
		transport := transport.NewStdio("proxy-dispatch", nil, "serve", "--expose", "proxy")
		connection, err := client.Connect(ctx, transport, client.ConnectOptions{Name: "my program"})
		if err != nil {
			return err
		}
		defer connection.Close()
		c := client.New(connection, client.Options{Whole: true})
		_, err = c.ListTools(ctx)
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // this example has no program to start
	fmt.Println(run(ctx) != nil)
	// Output: true
}
