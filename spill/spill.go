// Package spill keeps large results outside the conversation and reads parts of them back.
//
// A result goes through Shelf.Put into a few objects of a Store: the payload laid out line by line,
// the decoded binary parts, and whatever else is needed to rebuild the result byte for byte. Find turns
// the name an agent gives into an Artifact, Read shows a bounded part of it, Value hands it on as JSON.
package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// Errors a caller may ask for with errors.Is. The message of an error that wraps one says what is wrong.
var (
	// ErrNotFound: no such result for this owner. It is an fs.ErrNotExist.
	ErrNotFound error = notFound{}
	// ErrExpired: the owner's result was removed, by age or to make room.
	ErrExpired = errors.New("expired")
	// ErrStale: a handle from before a restart.
	ErrStale = errors.New("is from before a restart")
	// ErrDenied: a name that must not be opened.
	ErrDenied = fault.ErrDenied
	// ErrBadQuery: an op, path or parameter that cannot be; the message names the field.
	ErrBadQuery = fault.ErrBadQuery
	// ErrNoMatch: the path is sound and leads to nothing in this data.
	ErrNoMatch = fault.ErrNoMatch
	// ErrNoSpace: the quota or the disk has no room for the result.
	ErrNoSpace = fault.ErrNoSpace
	// ErrTooLarge: more than this operation handles at once.
	ErrTooLarge = fault.ErrTooLarge
)

type notFound struct{}

func (notFound) Error() string        { return "not found" }
func (notFound) Is(target error) bool { return target == fs.ErrNotExist }

// Owner is who may read a result: the same principal in the same session and view. With principal and session empty (an anonymous
// agent of a stateless server) a result is found by its long id only.
type Owner struct{ Principal, Session, View string }

func (o Owner) anonymous() bool { return o.Principal == "" && o.Session == "" }

// Options of a Shelf. The zero value works.
type Options struct {
	Dir            string        // folder under which the process makes its own; default os.TempDir()/proxy-dispatch-UID
	Store          store.Store   // where objects go instead of a local folder; default nil
	Keep           bool          // Dir itself, or Store, holds results, which outlive the process and are removed by age only
	TTL            time.Duration // life of a result after its last use; default 2h
	QuotaBytes     int64         // bytes of all results; default 2 GiB
	QuotaFiles     int           // files of all results; default 10000
	PrincipalBytes int64         // bytes of the results of one principal; default QuotaBytes
	PrincipalFiles int           // files of them; default QuotaFiles
	// Allowance says what one principal may keep, in bytes and files, where it is not what the options say of all; a 0 is
	// what they say. Nil: nobody differs. It must not block.
	Allowance    func(principal string) (bytes int64, files int)
	JQTime       time.Duration    // how long a jq program may run; default 10s
	GrepTime     time.Duration    // how long a search may run; default 30s
	TOON         bool             // JSON is read as TOON where a query names no form; default: as CSV or TOON where that is much smaller
	ReadCeiling  int              // bytes the largest answer may have; default 1 MiB
	Tokens       *tokens.Counter  // default o200k_base
	Log          *slog.Logger     // default: discarded
	AllowedRoots []string         // folders whose files Find opens by absolute path; default none
	Now          func() time.Time // default time.Now
}

// Artifact describes one kept result. It is a copy: it does not change when the result is used or removed.
type Artifact struct {
	Handle      string   // short name; the long id for an anonymous owner, the path for a file under AllowedRoots
	ID          string   // long id, 26 characters of base32; "" for a file under AllowedRoots
	Path        string   // main file; "" if the store is not a local folder
	Bytes       int64    // size of the main file
	Lines       int      // lines of the main file
	LongestLine int      // bytes of its longest line
	Tokens      int      // tokens of the main file, 0 for binary data
	TokensExact bool     // counted, not estimated
	TokensError int      // of an estimate: the true count differs by no more, with a probability of about 95 %
	Kind        string   // records object list text log blob
	Shape       string   // inferred schema, at most 400 bytes
	Sample      string   // first record or line, at most 200 bytes
	Keys        []string // top-level keys, of the records if they are records
	Rows        int      // elements, if the data is a list
	Parts       []PartInfo
	From        Sources // where the data came from; empty: nobody said
	Created     time.Time
	Expires     time.Time
	MimeType    string // of the data

	table    string // path of the array of records within the data, "" = the data itself
	field    string // a field of those records worth asking for
	question string // a jq program worth asking
	count    func(string) int
	entry    *entry
	// foreign is set instead of entry for a file under AllowedRoots.
	foreign *foreignFile
}

// URI names the artifact as a resource: spill://ID.
func (a *Artifact) URI() string { return "spill://" + a.ID }

// PartInfo describes one content block of a result.
type PartInfo struct {
	N        int    `json:"n"`    // number of the block, from 1
	Type     string `json:"type"` // as sent: text, image, audio, resource, resource_link, …
	MimeType string `json:"mimeType,omitempty"`
	Name     string `json:"name,omitempty"` // name or URI of a resource
	Bytes    int64  `json:"bytes"`          // decoded
	Path     string `json:"path,omitempty"` // file of a part that has one, in a local store
	Binary   bool   `json:"binary,omitempty"`
}

// Part says which content of an artifact is meant: Data, Raw, or the number of a content block.
type Part int

const (
	Data Part = 0  // what the handle holds
	Raw  Part = -1 // the whole result, as the server sent it
)

// String is the suffix of a name: "", "#raw" or "#N".
func (p Part) String() string {
	switch {
	case p == Data:
		return ""
	case p == Raw:
		return "#raw"
	}
	return "#" + strconv.Itoa(int(p))
}

// Stats says what the shelf holds now.
type Stats struct {
	Files      int
	Bytes      int64
	QuotaBytes int64
}

func (o Options) withDefaults() (Options, error) {
	if o.TTL <= 0 {
		o.TTL = 2 * time.Hour
	}
	if o.QuotaBytes <= 0 {
		o.QuotaBytes = 2 << 30
	}
	if o.QuotaFiles <= 0 {
		o.QuotaFiles = 10000
	}
	if o.ReadCeiling <= 0 {
		o.ReadCeiling = 1 << 20
	}
	if o.PrincipalBytes <= 0 {
		o.PrincipalBytes = o.QuotaBytes
	}
	if o.PrincipalFiles <= 0 {
		o.PrincipalFiles = o.QuotaFiles
	}
	if o.GrepTime <= 0 {
		o.GrepTime = 30 * time.Second
	}
	if o.JQTime <= 0 {
		o.JQTime = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tokens == nil {
		counter, err := tokens.New("")
		if err != nil {
			return o, fmt.Errorf("choose token counter: %w", err)
		}
		o.Tokens = counter
	}
	return o, nil
}
