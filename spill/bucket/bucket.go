// Package bucket is a bucket as a Store, of any service that speaks S3.
package bucket

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/proxy-dispatch/proxy-dispatch/spill/fault"
	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

// Options of a Bucket. Only Name must be given. Nothing is read from the environment or from files.
type Options struct {
	Name         string // of the bucket, which exists
	Endpoint     string // URL of the service; default https://s3.amazonaws.com
	Region       string // default us-east-1
	Prefix       string // what the keys of all objects begin with; default proxy-dispatch/
	PathStyle    bool   // the bucket stands in the path and not in the host name; default: as the service is known to want it
	AccessKey    string // with SecretKey; default: requests are not signed
	SecretKey    string
	SessionToken string                                // of credentials for a while; default none
	Proxy        func(*http.Request) (*url.URL, error) // default: no proxy
	PartSize     int                                   // bytes sent at a time, and held twice by a writer; 5 MiB to 1 GiB, default 8 MiB
}

const (
	minPart    = 5 << 20 // the services' own bound
	maxPart    = 1 << 30
	maxObjects = 1_000_000 // in a list
	attempts   = 4
	cleaning   = 10 * time.Second // for taking back what failed
)

// errBadOptions: a bucket cannot be named so.
var errBadOptions = errors.New("bad bucket options")

// Bucket is a Store whose objects are those of a bucket below a prefix. Several processes may share it.
// A name in use is found out when a writer closes, by the service; one that knows no conditional writes
// replaces the object. There is nothing to close.
type Bucket struct {
	core   *minio.Core
	name   string
	prefix string
	part   int
}

// Open prepares access to a bucket. It asks nothing of the service.
func Open(o Options) (*Bucket, error) {
	host, secure, err := endpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if o.PartSize != 0 && (o.PartSize < minPart || o.PartSize > maxPart) {
		return nil, fmt.Errorf("%w: parts of %d bytes, want %d to %d", errBadOptions, o.PartSize, minPart, maxPart)
	}
	if (o.AccessKey == "") != (o.SecretKey == "") {
		return nil, fmt.Errorf("%w: access key and secret key belong together", errBadOptions)
	}
	prefix := strings.Trim(cmp.Or(o.Prefix, "proxy-dispatch"), "/")
	if prefix == "" || len(prefix) > 512 || !clean(prefix) {
		return nil, fmt.Errorf("%w: prefix %.80q", errBadOptions, o.Prefix)
	}
	options := &minio.Options{
		Creds:  credentials.NewStaticV4(o.AccessKey, o.SecretKey, o.SessionToken),
		Secure: secure, Region: cmp.Or(o.Region, "us-east-1"), Transport: transport(o.Proxy), MaxRetries: attempts,
	}
	if o.PathStyle {
		options.BucketLookup = minio.BucketLookupPath
	}
	core, err := minio.NewCore(host, options)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBadOptions, err)
	}
	if o.Name == "" || !clean(o.Name) || strings.Contains(o.Name, "/") {
		return nil, fmt.Errorf("%w: name %.80q", errBadOptions, o.Name)
	}
	return &Bucket{core: core, name: o.Name, prefix: prefix + "/", part: cmp.Or(o.PartSize, 8<<20)}, nil
}

func endpoint(text string) (host string, secure bool, err error) {
	u, err := url.Parse(cmp.Or(text, "https://s3.amazonaws.com"))
	if err != nil {
		return "", false, fmt.Errorf("%w: the endpoint is no URL", errBadOptions) // its text may hold a password
	}
	bare := (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == ""
	if u.Host == "" || u.User != nil || !bare || u.Scheme != "https" && u.Scheme != "http" {
		return "", false, fmt.Errorf("%w: the endpoint must be http(s)://HOST[:PORT]", errBadOptions)
	}
	return u.Host, u.Scheme == "https", nil
}

// clean tells whether a text can stand in a path as it is.
func clean(text string) bool {
	for element := range strings.SplitSeq(text, "/") {
		if element == "" || element == "." || element == ".." {
			return false
		}
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./=", r))
	})
}

func transport(proxy func(*http.Request) (*url.URL, error)) http.RoundTripper {
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: time.Minute,
		IdleConnTimeout:       time.Minute,
		MaxIdleConnsPerHost:   16,
		DisableCompression:    true, // ranges are of the bytes as they are stored
	}
}

// Remove implements Store.
func (b *Bucket) Remove(ctx context.Context, name string) error {
	if err := check(ctx, name); err != nil {
		return err
	}
	err := b.core.RemoveObject(ctx, b.name, b.prefix+name, minio.RemoveObjectOptions{})
	if err = meaning(err); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// List implements Store. More than a million objects are fault.ErrTooLarge.
func (b *Bucket) List(ctx context.Context) ([]store.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var list []store.Info
	for o := range b.core.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix}) {
		if o.Err != nil {
			return nil, fmt.Errorf("list bucket: %w", meaning(o.Err))
		}
		name := strings.TrimPrefix(o.Key, b.prefix)
		if store.CheckName(name) != nil {
			continue // somebody else's
		}
		if len(list) == maxObjects {
			return nil, fmt.Errorf("list bucket: more than %d objects: %w", maxObjects, fault.ErrTooLarge)
		}
		list = append(list, store.Info{Name: name, Size: o.Size, ModTime: o.LastModified})
	}
	return list, ctx.Err()
}

func check(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return store.CheckName(name)
}

var (
	codesFull   = []string{"QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "XMinioStorageFull", "InsufficientCapacity"}
	codesInUse  = []string{"PreconditionFailed", "ConditionalRequestConflict"}
	codesAbsent = []string{"NoSuchKey", "NoSuchUpload"}
)

// meaning adds to an answer of the service what callers ask for with errors.Is.
func meaning(err error) error {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) {
		return err
	}
	switch {
	case slices.Contains(codesAbsent, answer.Code):
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	case slices.Contains(codesInUse, answer.Code):
		return fmt.Errorf("%w: %w", fs.ErrExist, err)
	case slices.Contains(codesFull, answer.Code), answer.StatusCode == http.StatusInsufficientStorage:
		return fmt.Errorf("%w: the bucket is full: %w", fault.ErrNoSpace, err)
	}
	return err
}

var _ store.Store = (*Bucket)(nil)
