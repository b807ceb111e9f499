package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
)

// rootCommand is the program with all its commands.
func (c *console) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "proxy-dispatch",
		Short: "One tool in front of many MCP servers",
		Long: `proxy-dispatch shows an agent one tool. Through it the agent finds and calls the tools of all
configured MCP servers, gets large results as short reports, and reads from them what it needs.

Results go to stdout, words for people to stderr. Exit codes: 0 ok, 1 the call failed,
2 wrong usage or configuration, 3 a server could not be reached.`,
		Example: `  proxy-dispatch demo
  proxy-dispatch init config --write
  proxy-dispatch validate
  proxy-dispatch serve`,
		Version:       versionText(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("proxy-dispatch {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%w\nSee `%s --help`.", err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVar(&c.configPath, "config", "", "configuration file (else $"+config.PathVariable+", ./proxy-dispatch.yaml, the user's configuration folder)")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "show the log on stderr")
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(c.serveCommand(), c.serversCommand(), c.toolsCommand(), c.searchCommand(), c.schemaCommand(),
		c.callCommand(), c.readCommand(), c.statusCommand(), c.validateCommand(), c.configCommand(), c.initCommand(),
		c.benchCommand(), c.evalCommand(), c.demoCommand(), c.tokenCommand(), c.serverCommand(), c.viewCommand(), c.trustCommand(),
		c.loginCommand(), c.logoutCommand(), c.versionCommand())
	for _, cmd := range root.Commands() {
		refuseExtra(cmd)
	}
	return root
}

// refuseExtra words a wrong number of arguments as wrong usage.
func refuseExtra(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage("%w\nUsage: %s", err, cmd.UseLine())
		}
		return nil
	}
}

// wantsJSON adds --json to a command.
func (c *console) wantsJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.json, "json", false, "print JSON for programs")
}

// load reads the configuration the command line asks for.
func (c *console) load() (*config.Config, error) {
	path, err := config.Find(c.configPath, c.env)
	if err != nil {
		return nil, err
	}
	cfg, err := config.Load(path, c.env)
	if err != nil {
		return nil, err
	}
	return c.use(cfg), nil
}

// use makes everything said from now on free of the configuration's secrets.
func (c *console) use(cfg *config.Config) *config.Config {
	c.redact = cfg.Redactor().Redact
	return cfg
}

func (c *console) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs, Example: "  proxy-dispatch version",
		RunE: func(*cobra.Command, []string) error {
			if c.json {
				return c.showJSON(struct {
					Version string `json:"version"`
					Go      string `json:"go"`
					System  string `json:"system"`
				}{versionText(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
			}
			_, err := fmt.Fprintln(c.out, "proxy-dispatch", versionText())
			return err
		},
	}
	c.wantsJSON(cmd)
	return cmd
}
