package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
	_ "time/tzdata" // zones are known on machines without a zone database too

	"github.com/mark3labs/mcp-go/server"
)

// UtilsOptions sets up Utils. The zero value gives a server whose file tools
// refuse every path.
type UtilsOptions struct {
	Roots    []string         // folders the file tools may touch; each must exist
	ReadOnly bool             // leaves filesystemModify out
	Now      func() time.Time // default time.Now
	MaxBytes int64            // most bytes read or written by one call; default 10 MiB
}

// Utils returns a server with the tools filesystemQuery, filesystemModify,
// get_current_time and init. Files are reached below the roots only, never
// through links that lead out of them. Its tools keep no state between calls.
func Utils(o UtilsOptions) (*server.MCPServer, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 10 << 20
	}
	f := &files{max: o.MaxBytes, readOnly: o.ReadOnly}
	for _, r := range o.Roots {
		abs, err := filepath.Abs(r)
		if err != nil {
			return nil, fmt.Errorf("open root %s: %w", r, err)
		}
		if info, err := os.Stat(abs); err != nil {
			return nil, fmt.Errorf("open root: %w", err)
		} else if !info.IsDir() {
			return nil, fmt.Errorf("open root %s: not a folder", r)
		}
		f.roots = append(f.roots, abs)
	}
	tools := []tool{{
		name: "filesystemQuery", title: "Query the file system", readOnly: true,
		description: "Read a file, list a folder, search text in files, find files by name pattern, or get file info. Nothing is changed.",
		input:       querySchema, run: f.query,
	}}
	if !o.ReadOnly {
		tools = append(tools, tool{
			name: "filesystemModify", title: "Change the file system", destructive: true,
			description: "Write, append to or edit a text file, or delete a file or folder.",
			input:       modifySchema, output: modifyOutput, run: f.modify,
		})
	}
	tools = append(tools, tool{
		name: "get_current_time", title: "Current time", readOnly: true,
		description: "Get the current date and time, in UTC or a named time zone.",
		input:       timeSchema, output: timeOutput, run: clock(o.Now),
	}, tool{
		name: "init", title: "File access", readOnly: true,
		description: "Tell which folders the file tools reach, whether they may write, and the size limit; with `root`, check that a folder is reachable. Changes nothing.",
		input:       initSchema, output: initOutput, run: f.init,
	})
	return newServer("utils", "File and time utilities", f.instructions(), tools), nil
}

type timeArgs struct{ Timezone string }

type timeAnswer struct {
	Time     string `json:"time"`
	Timezone string `json:"timezone"`
	Weekday  string `json:"weekday"`
	Unix     int64  `json:"unix"`
}

func clock(now func() time.Time) func(context.Context, json.RawMessage) (any, error) {
	return func(_ context.Context, raw json.RawMessage) (any, error) {
		args, err := read[timeArgs](raw)
		if err != nil {
			return nil, err
		}
		if args.Timezone == "" {
			args.Timezone = "UTC"
		}
		// "Local" would tell where this machine stands.
		zone, err := time.LoadLocation(args.Timezone)
		if err != nil || args.Timezone == "Local" {
			return nil, fmt.Errorf("timezone %q is unknown: use an IANA name such as Europe/Lisbon", args.Timezone)
		}
		t := now().In(zone)
		return timeAnswer{t.Format(time.RFC3339), args.Timezone, t.Weekday().String(), t.Unix()}, nil
	}
}
