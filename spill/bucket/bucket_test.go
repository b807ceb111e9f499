package bucket_test

import (
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/spill/bucket"
	"github.com/proxy-dispatch/proxy-dispatch/spill/spilltest"
	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
	"github.com/proxy-dispatch/proxy-dispatch/tests/s3"
)

func options(t *testing.T, server s3.Server) bucket.Options {
	return bucket.Options{
		Name: server.Bucket(t), Endpoint: server.Endpoint, PathStyle: true,
		AccessKey: server.AccessKey, SecretKey: server.SecretKey,
	}
}

func open(t *testing.T, o bucket.Options) *bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStore(t *testing.T) {
	server := s3.Start(t)
	for _, test := range []struct {
		name   string
		change func(*bucket.Options)
	}{
		{"one request an object", func(*bucket.Options) {}},
		{"in parts", func(o *bucket.Options) { o.PartSize, o.Prefix = 5<<20, "a/b" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			spilltest.Store(t, func(t *testing.T) store.Store {
				o := options(t, server)
				test.change(&o)
				return open(t, o)
			})
		})
	}
}
