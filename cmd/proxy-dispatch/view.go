package main

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/edit"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/control"
)

func (c *console) viewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "view",
		Short: "Add, change and remove tool views",
		Long: `view changes the tool views in the configuration file and leaves everything else in it as it is written, comments
and order included. A tool is named SERVER.TOOL.`,
		Example: `  proxy-dispatch view add expert --description "Redis knowledge" --tool redis.search
  proxy-dispatch view set-tool expert redis.search --description "Search. {original}"
  proxy-dispatch view rename-tool expert redis.search search_knowledge
  proxy-dispatch view set-param expert redis.search namespace --value '"docs"'
  proxy-dispatch view remove expert`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(c.viewListCommand(), c.viewAddCommand(), c.viewSetCommand(),
		c.viewVerb("remove NAME", "Take a view out of the configuration", 1, func(v *viewEdit, args []string) error {
			v.remove()
			return nil
		}),
		c.viewSetToolCommand(),
		c.viewVerb("rename-tool NAME SERVER.TOOL NEW", "Give a tool another name in a view", 3, func(v *viewEdit, args []string) error {
			v.set(notation.NewText(args[2]), "tools", v.server, v.tool, "name")
			return nil
		}),
		c.viewVerb("remove-tool NAME SERVER.TOOL", "Take a tool out of a view", 2, func(v *viewEdit, args []string) error {
			v.remove("tools", v.server, v.tool)
			return nil
		}),
		c.viewSetParamCommand(),
		c.viewVerb("remove-param NAME SERVER.TOOL PARAMETER", "Show a parameter as the server has it again", 3, func(v *viewEdit, args []string) error {
			v.remove("tools", v.server, v.tool, "parameters", args[2])
			return nil
		}))
	return cmd
}

// viewEdit gathers the changes of one view. Each is made on a copy of the file at once, so that the next one sees it.
type viewEdit struct {
	cfg          *config.Config
	path         []string // of the view in the file
	server, tool string
	file         []byte
	changes      []edit.Change
	err          error // the first failure
}

func (v *viewEdit) apply(c edit.Change) {
	if v.err != nil {
		return
	}
	v.changes = append(v.changes, c)
	v.file, v.err = edit.Apply(v.cfg.Path, v.file, c)
}

// at is the node at a path of the view, nil if there is none.
func (v *viewEdit) at(path []string) *notation.Node {
	n, _ := notation.Parse(v.cfg.Path, v.file)
	for _, key := range path {
		n = n.Get(key)
	}
	return n
}

func (v *viewEdit) full(path []string) []string {
	return append(v.path[:len(v.path):len(v.path)], path...)
}

// set puts a value at a path of the view. A mapping on the way that is written as {} is replaced whole: lines can't be
// put into it.
func (v *viewEdit) set(value *notation.Node, path ...string) {
	whole := v.full(path)
	for i := len(v.path); i < len(whole); i++ {
		n := v.at(whole[:i])
		if n == nil || n.Kind == notation.Mapping && len(n.Members) > 0 {
			continue
		}
		for j := len(whole) - 1; j >= i; j-- {
			outer := &notation.Node{Kind: notation.Mapping}
			outer.Put(whole[j], value)
			value = outer
		}
		whole = whole[:i]
		break
	}
	v.apply(edit.Set(value, whole...))
}

// remove takes a key of the view out, and what is left empty by that.
func (v *viewEdit) remove(path ...string) {
	whole := v.full(path)
	for len(whole) > len(v.path)+1 {
		up := v.at(whole[:len(whole)-1])
		if up == nil || len(up.Members) != 1 || up.Get(whole[len(whole)-1]) == nil {
			break
		}
		if whole = whole[:len(whole)-1]; len(whole) == len(v.path)+3 && len(path) > 3 { // the tool itself stays
			v.apply(edit.Set(&notation.Node{Kind: notation.Mapping}, whole...))
			return
		}
	}
	v.apply(edit.Remove(whole...))
}

// text sets a key unless the text is empty.
func (v *viewEdit) text(value string, path ...string) {
	if value != "" {
		v.set(notation.NewText(value), path...)
	}
}

// flag sets a key to true if it is wanted.
func (v *viewEdit) flag(want bool, path ...string) {
	if want {
		v.set(&notation.Node{Kind: notation.Bool, Text: "true"}, path...)
	}
}

// json sets a key to a value given as JSON.
func (v *viewEdit) json(flag, text string, path ...string) error {
	if text == "" {
		return nil
	}
	if !json.Valid([]byte(text)) {
		return usage("%s must be JSON, such as 5 or '\"a text\"', not %s", flag, text)
	}
	wrapped, faults := notation.ParseJSON([]byte(`{"value":` + text + `}`))
	if len(faults) > 0 {
		return usage("%s: %s", flag, faults[0].Msg)
	}
	v.set(wrapped.Get("value"), path...)
	return nil
}

// split reads SERVER.TOOL; a server's name may hold dots itself.
func (v *viewEdit) split(name string) error {
	for _, s := range v.cfg.Servers {
		for _, sep := range []string{".", "/"} {
			if tool, ok := strings.CutPrefix(name, s.Name+sep); ok && tool != "" {
				v.server, v.tool = s.Name, tool
				return nil
			}
		}
	}
	return usage("%q names no tool of a configured server: write SERVER.TOOL", name)
}

func (c *console) viewVerb(use, short string, args int, change func(v *viewEdit, args []string) error) *cobra.Command {
	example := strings.NewReplacer("NAME", "expert", "SERVER.TOOL", "redis.search", "NEW", "search_knowledge", "PARAMETER", "limit").Replace(use)
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(args), Example: "  proxy-dispatch view " + example,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeView(cmd.Context(), args, false, func(v *viewEdit) error { return change(v, args) })
		},
	}
}

// changeView changes a view in the file and tells the proxies that serve it. args are the view's name and, if there is
// one, the tool's.
func (c *console) changeView(ctx context.Context, args []string, fresh bool, change func(v *viewEdit) error) error {
	path, err := config.Find(c.configPath, c.env)
	if err != nil {
		return err
	}
	cfg, err := config.Load(path, c.env)
	if err != nil {
		return err
	}
	v := &viewEdit{cfg: cfg, path: []string{cfg.ViewsKey, args[0]}}
	if v.path[0] == "" {
		v.path[0] = "views"
	}
	switch there := cfg.View(args[0]) != nil; {
	case fresh && there:
		return usage("view %q is there already", args[0])
	case !fresh && !there:
		return noView(cfg, args[0])
	}
	if len(args) > 1 {
		if err := v.split(args[1]); err != nil {
			return err
		}
	}
	err = changeFile(path, c.env, func(file []byte) ([]edit.Change, error) {
		v.file = file
		if err := change(v); err != nil {
			return nil, err
		}
		return v.changes, v.err
	})
	if err != nil {
		return usage("%w", err)
	}
	c.say("changed view %s in %s", args[0], path)
	if cfg, err = config.Load(path, c.env); err != nil {
		return err
	}
	return c.tellProxies(ctx, c.use(cfg), func(p control.Client) error {
		report, err := p.Reload(ctx)
		if err == nil && len(report.NeedsRestart) > 0 {
			c.say("process %d: in force only after a restart: %s", p.PID, strings.Join(report.NeedsRestart, ", "))
		}
		return err
	})
}

func (c *console) viewListCommand() *cobra.Command {
	type listed struct {
		Name        string `json:"name"`
		Exposure    string `json:"exposure"`
		Description string `json:"description,omitempty"`
	}
	cmd := &cobra.Command{
		Use: "list", Short: "List the views", Args: cobra.NoArgs, Example: "  proxy-dispatch view list",
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.load()
			if err != nil {
				return err
			}
			views := make([]listed, len(cfg.Views))
			for i, v := range cfg.Views {
				views[i] = listed{v.Name, cmp.Or(string(v.Exposure), "direct"), v.Description}
			}
			if c.json {
				return c.showJSON(views)
			}
			if len(views) == 0 {
				c.say("no views")
			}
			for _, v := range views {
				if err := c.show("%s (%s)  %s", v.Name, v.Exposure, firstLine(v.Description, 100)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.wantsJSON(cmd)
	return cmd
}

// viewFlags are the keys of a view that flags set.
type viewFlags struct {
	description, exposure string
	includeAll, spill     bool
	tools, without        []string
}

func (f *viewFlags) add(cmd *cobra.Command) *cobra.Command {
	flags := cmd.Flags()
	flags.StringVar(&f.description, "description", "", "what the view is for")
	flags.StringVar(&f.exposure, "exposure", "", "direct (default), search, search_per_server or dispatch")
	flags.BoolVar(&f.includeAll, "include-all", false, "everything of all servers")
	flags.StringSliceVar(&f.without, "exclude-server", nil, "but not of these (globs)")
	flags.BoolVar(&f.spill, "spill", false, "keep large results aside, with a tool to read them")
	flags.StringArrayVar(&f.tools, "tool", nil, "SERVER.TOOL to show (repeatable; TOOL may be a glob)")
	return cmd
}

func (f *viewFlags) apply(v *viewEdit) error {
	v.text(f.description, "description")
	v.text(f.exposure, "exposure")
	v.flag(f.includeAll, "include_all")
	v.flag(f.spill, "spill")
	if len(f.without) > 0 {
		list := &notation.Node{Kind: notation.List}
		for _, s := range f.without {
			list.Items = append(list.Items, notation.NewText(s))
		}
		v.set(list, "exclude_servers")
	}
	for _, t := range f.tools {
		if err := v.split(t); err != nil {
			return err
		}
		v.set(&notation.Node{Kind: notation.Mapping}, "tools", v.server, v.tool)
	}
	return nil
}

func (c *console) viewAddCommand() *cobra.Command {
	var f viewFlags
	return f.add(&cobra.Command{
		Use: "add NAME", Short: "Put a view into the configuration", Args: cobra.ExactArgs(1),
		Example: `  proxy-dispatch view add expert --description "Redis knowledge" --tool redis.search --tool 'github.search_*'
  proxy-dispatch view add all --include-all --exposure search`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeView(cmd.Context(), args, true, func(v *viewEdit) error {
				if err := f.apply(v); err != nil {
					return err
				}
				if len(v.changes) == 0 {
					return usage("say what the view shows: --tool, --include-all")
				}
				return nil
			})
		},
	})
}

func (c *console) viewSetCommand() *cobra.Command {
	var f viewFlags
	return f.add(&cobra.Command{
		Use: "set NAME", Short: "Change what a view is and shows", Args: cobra.ExactArgs(1),
		Example: `  proxy-dispatch view set expert --exposure search`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeView(cmd.Context(), args, false, f.apply)
		},
	})
}

func (c *console) viewSetToolCommand() *cobra.Command {
	var name, description string
	var off bool
	cmd := &cobra.Command{
		Use: "set-tool NAME SERVER.TOOL", Short: "Show a tool in a view, or change how", Args: cobra.ExactArgs(2),
		Example: `  proxy-dispatch view set-tool expert redis.search --name search_knowledge --description "Search. {original}"
  proxy-dispatch view set-tool all github.delete_file --disable`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeView(cmd.Context(), args, false, func(v *viewEdit) error {
				if name == "" && description == "" && !off {
					v.set(&notation.Node{Kind: notation.Mapping}, "tools", v.server, v.tool)
				}
				v.text(name, "tools", v.server, v.tool, "name")
				v.text(description, "tools", v.server, v.tool, "description")
				if off {
					v.set(&notation.Node{Kind: notation.Bool, Text: "false"}, "tools", v.server, v.tool, "enabled")
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "its name in the view")
	cmd.Flags().StringVar(&description, "description", "", "its description; {original} stands for the server's")
	cmd.Flags().BoolVar(&off, "disable", false, "keep it out")
	return cmd
}

func (c *console) viewSetParamCommand() *cobra.Command {
	var value, fallback, rename, description string
	var hide bool
	cmd := &cobra.Command{
		Use: "set-param NAME SERVER.TOOL PARAMETER", Short: "Hide, bind, rename or describe a parameter of a tool in a view", Args: cobra.ExactArgs(3),
		Example: `  proxy-dispatch view set-param expert redis.search namespace --value '"docs"'
  proxy-dispatch view set-param expert redis.search limit --default 5 --rename top`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.changeView(cmd.Context(), args[:2], false, func(v *viewEdit) error {
				at := func(key string) []string {
					return []string{"tools", v.server, v.tool, "parameters", args[2], key}
				}
				v.flag(hide, at("hide")...)
				if err := v.json("--value", value, at("value")...); err != nil {
					return err
				}
				if err := v.json("--default", fallback, at("default")...); err != nil {
					return err
				}
				v.text(rename, at("rename")...)
				v.text(description, at("description")...)
				if len(v.changes) == 0 {
					return usage("say what becomes of it: --hide, --value, --default, --rename, --description")
				}
				return nil
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&hide, "hide", false, "agents do not see it")
	f.StringVar(&value, "value", "", "JSON that is always sent; hides it")
	f.StringVar(&fallback, "default", "", "JSON that is sent where the agent says nothing")
	f.StringVar(&rename, "rename", "", "its name in the view")
	f.StringVar(&description, "description", "", "its description; {original} stands for the server's")
	return cmd
}
