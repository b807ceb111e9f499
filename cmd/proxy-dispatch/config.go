package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/dispatch/arguments"
)

func (c *console) configCommand() *cobra.Command {
	var resolved, schema bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show which configuration is used, or the whole of it",
		Long: `config prints the path of the configuration in force. --resolved prints it with every alias, variable and
relative path resolved, and every secret as ***. --schema prints the JSON Schema of configuration files, for editors.`,
		Example: `  proxy-dispatch config
  proxy-dispatch config --resolved
  proxy-dispatch config --schema > proxy-dispatch.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if schema {
				return c.configSchema()
			}
			return c.config(resolved)
		},
	}
	cmd.Flags().BoolVar(&resolved, "resolved", false, "print the configuration as it is in force")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of configuration files")
	c.wantsJSON(cmd)
	return cmd
}

func (c *console) configSchema() error {
	text, err := config.Schema()
	if err != nil {
		return err
	}
	_, err = c.out.Write(text)
	return err
}

func (c *console) config(resolved bool) error {
	cfg, err := c.load()
	if err != nil {
		return err
	}
	for _, line := range cfg.Ignored {
		c.say("ignored: %s", line)
	}
	if !resolved {
		if c.json {
			return c.showJSON(map[string]string{"config": cfg.Path})
		}
		return c.show("%s", cfg.Path)
	}
	text, err := cfg.Resolved()
	if err != nil {
		return err
	}
	if !c.json {
		_, err = c.out.Write(text)
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("read the resolved configuration: %w", err)
	}
	raw, err := nodeJSON(&doc)
	if err != nil {
		return err
	}
	return c.showJSON(raw)
}

// nodeJSON writes a YAML node as JSON, keys in their order.
func nodeJSON(n *yaml.Node) (json.RawMessage, error) {
	switch n.Kind {
	case yaml.DocumentNode:
		return nodeJSON(n.Content[0])
	case yaml.MappingNode:
		var o arguments.Object
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := nodeJSON(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			o = append(o, arguments.Member{Key: n.Content[i].Value, Value: v})
		}
		return o.Raw(), nil
	case yaml.SequenceNode:
		items := make([]string, len(n.Content))
		for i, item := range n.Content {
			v, err := nodeJSON(item)
			if err != nil {
				return nil, err
			}
			items[i] = string(v)
		}
		return json.RawMessage("[" + strings.Join(items, ",") + "]"), nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, fmt.Errorf("read the resolved configuration: %w", err)
	}
	return json.Marshal(v)
}
