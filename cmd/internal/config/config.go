// Package config turns the file on disk into the rooms' own options. It reads YAML, JSON with
// comments, the configuration files of the usual MCP clients and the words of mini-a's command line,
// names every problem of a file with its line, and knows which values are secrets.
//
// # Whose file is it
//
// A file is a client's if it is TOML, if it is called .claude.json, claude_desktop_config.json or
// settings.json, or if it has a top-level key that only clients write (servers as a mapping, inputs,
// projects, numStartups). Of a client's file only the server block is read; everything else in it is
// ignored and named in Config.Ignored. Files called .mcp.json, mcp.json or mcp_config.json may be
// either's: all our keys are read, and unknown ones ignored and named. Any other file is ours, and an
// unknown key in it is an error. In all of them the keys that clients put into a server's entry are
// understood: mapped where we have the same, ignored and named where not.
//
// # Values
//
// ${VAR}, ${VAR:-default} and ${env:VAR} are replaced in every text value but descriptions and
// keywords, which agents get to see; $${ stands for ${.
// Durations are numbers of milliseconds or texts like 30s; sizes are numbers of bytes or texts like
// 64MiB. Relative folders and files are relative to the folder of the configuration file, and ~/ is
// the home folder.
package config

import (
	"fmt"
	"os"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/secret"
)

// Config is one configuration as read, every value checked and expanded. It is not changed after
// Load and may be shared.
type Config struct {
	Path         string   // of the file; "" when it came from words
	Servers      []Server // in file order
	Expose       []string // faces; default dispatch
	HTTP         HTTP
	Auth         Auth
	Spill        Spill
	AllowedRoots []string // folders, absolute
	Tools        Tools
	Pin          Pin
	Flow         Flow
	Search       Search
	Tokens       Tokens
	Definition   Definition
	Script       Script
	Proxy        Proxy
	Transparent  Transparent
	Views        []View // in file order
	ViewsKey     string // the spelling of views in the file
	Hooks        []Hook // in the order they run
	Composites   []Composite
	Custom       []Custom
	Log          Log
	CacheDir     string   // "" = the user's cache folder
	Ignored      []string // what was understood and left alone, as FILE:LINE: KEY, why

	secrets secret.Set
	written notation.Node // views, hooks and tools of our own as they are to be printed
}

// Server is one server behind us.
type Server struct {
	Name        string
	ID          string // hex hash of what makes the server what it is; the disk cache is keyed by it
	Description string
	Keywords    []string // of all its tools
	OfTools     []ToolKeywords

	Command string
	Args    []string
	Env     []string // K=V, added to our own environment
	Dir     string
	URL     string
	Headers map[string]string
	Builtin string // utils or dataset
	OAuth   OAuth
	// Claims are headers that tell a remote server about the agent: the header's name and the claim of the agent's access
	// token that it holds. Nothing else of a token is passed on.
	Claims map[string]string

	Transport    string        // stdio, http, sse; "" = by command or URL
	Protocol     string        // auto, legacy, 2026-07-28; default auto
	Framing      string        // content-length; "" = newline
	PerAgent     bool          // each agent has a session of its own
	Timeout      time.Duration // of one call; 0 = the default of the room
	StartTimeout time.Duration // 0 = the default of the room
	Lazy         bool
	Disabled     bool
	ReadOnly     bool
	Tools        Tools
	Prefix       *string // of its names in the face proxy; nil = Name, "" = none
	Separator    *string // behind the prefix; nil = that of proxy

	Unset    error  // a variable that this server needs is not set; it cannot be started
	Describe string // one line without secrets, for people
	File     string
	Line     int

	masked maskedServer
	hooks  *notation.Node // as they were written; nil: none
}

// OAuth says how to log in to a remote server; the zero value registers us by itself and asks the person.
type OAuth struct {
	ClientID, ClientSecret string
	ClientMetadataURL      string
	Scopes                 []string
	ClientCredentials      bool     // the client logs in as itself
	PrivateKeyFile         string   // of the client, instead of a secret; PEM
	AssertionFile          string   // holds what the platform says of who runs us, a JWT, with which the client logs in as itself
	IdentityProvider       Identity // exchanges what AssertionFile holds, a person's ID token, for what the server takes
	RedirectPort           int      // where the browser comes back to; 0 = a free port
}

// Identity is an identity provider of an enterprise; the zero value is none.
type Identity struct{ TokenURL, ClientID, ClientSecret string }

// ToolKeywords are hidden words by which search finds the tools that a glob matches.
type ToolKeywords struct {
	Tools    string
	Keywords []string
}

// Tools says by globs which tools exist for agents. Deny wins; an empty Allow allows all. Those that Confirm matches,
// by globs or as @destructive or @write, run only when a person agrees.
type Tools struct{ Allow, Deny, Confirm []string }

// Pin says what happens to tools that are not what they were when they were trusted.
type Pin string

// The values of Pin.
const (
	PinOff   Pin = "off"   // the default, also ""
	PinWarn  Pin = "warn"  // the log says so
	PinBlock Pin = "block" // they are neither found nor called
)

// HTTP is where and how to listen.
type HTTP struct {
	Listen string   // host:port; "" = not over HTTP
	Hosts  []string // names this machine is known by, beside the one of Listen
	// Stateless serves agents without sessions. StateKey is the secret with which replicas read what agents carry for them.
	Stateless bool
	StateKey  string
	Drain     time.Duration // how long calls may go on after SIGTERM; 0 = the default of the room
	// AdminToken opens the routes below /admin; "" = there are none.
	AdminToken string
	TLS        TLS
}

// TLS names the files of a certificate; both or none.
type TLS struct{ Cert, Key string }

// Spill bounds results and where they are kept. Nil and zero mean the default of the room.
type Spill struct {
	Threshold      *int64 // bytes above which a result is spilled; 0 = never
	ImageThreshold *int64 // bytes above which an image is spilled
	Dir            string
	TTL            time.Duration
	QuotaBytes     int64
	QuotaFiles     int
	PrincipalBytes int64 // of one principal; 0 = all of the quota
	PrincipalFiles int
	ReadCeiling    int
	TOON           bool    // JSON is shown as TOON unless another form is asked for
	Bucket         *Bucket // instead of Dir
}

// Search bounds the reply to a search and says what ranking may use.
type Search struct {
	Budget     int    // o200k tokens; 0 = default
	Lexicon    string // file of own concepts; "" = none
	Embeddings Embeddings
}

// Embeddings is an endpoint that turns texts into vectors; without a URL none is asked.
type Embeddings struct {
	URL, Model, APIKey string
	Dimensions         int // 0 = the model's own
}

// Tokens names the encoding that tokens are counted in; "" = o200k_base.
type Tokens struct{ Encoding string }

// Definition shapes the one tool's definition.
type Definition struct{ Arguments string } // object (default) or string

// Log is where and how log lines are written.
type Log struct {
	Level  string // debug, info, warn, error; default info
	Format string // text (default) or json
	File   string // "" = stderr
}

// Env looks a variable of the environment up, as os.LookupEnv does.
type Env func(name string) (string, bool)

// Load reads and checks the file at path. The error is Errors with every problem of the file, or
// wraps the reason why it could not be read.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if info.Size() > notation.MaxFile {
		return nil, Errors{{File: path, Msg: fmt.Sprintf("file is larger than %d MiB", notation.MaxFile>>20)}}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, data, env)
}

// Parse is Load for a file already read; path names it in errors, tells its notation, and its
// folder is what relative paths are relative to.
func Parse(path string, data []byte, env func(string) (string, bool)) (*Config, error) {
	return decode(path, data, env).finish()
}

// decode reads a file as far as it can be understood.
func decode(path string, data []byte, env Env) *decoder {
	p := &problems{file: path}
	d := newDecoder(path, env, p)
	root, faults := notation.Parse(path, data)
	p.take(faults)
	if root != nil {
		d.whose(path, root)
		d.root(root)
	}
	return d
}

// Redactor returns the redactor of every secret of the configuration.
func (c *Config) Redactor() *secret.Redactor { return c.secrets.Redactor() }

// AddSecrets adds every secret of the configuration to a set.
func (c *Config) AddSecrets(to *secret.Set) { to.AddAll(&c.secrets) }

// RedactorOf returns the redactor of a file that may be faulty: it knows every secret that could be
// found in it all the same.
func RedactorOf(path string, data []byte, env func(string) (string, bool)) *secret.Redactor {
	return decode(path, data, env).out.Redactor()
}
