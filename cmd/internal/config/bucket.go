package config

import (
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/notation"
	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config/variable"
	"github.com/proxy-dispatch/proxy-dispatch/spill/bucket"
)

// Bucket is where results are kept that several processes answer for.
type Bucket struct {
	bucket.Options
	Lifecycle bool // the service is asked to remove old results by itself
}

// bucket reads spill.bucket; nil if there is none.
func (d *decoder) bucket(f *fields) *Bucket {
	_, n := f.take("bucket")
	if n == nil || n.AsksNothing() {
		return nil
	}
	b := d.mapping(n, "spill.bucket.")
	lost := false
	text := func(keys ...string) string {
		s := b.text(keys...)
		lost, d.lost = lost || d.lost, false
		return s
	}
	d.lost = false
	out := &Bucket{Options: bucket.Options{
		Name: text("name"), Endpoint: text("endpoint"), Region: text("region"), Prefix: text("prefix"), PathStyle: b.bool("pathStyle"),
		AccessKey: text("accessKey", "accessKeyId"), SecretKey: text("secretKey", "secretAccessKey"), SessionToken: text("sessionToken"),
	}, Lifecycle: b.bool("lifecycle")}
	for _, secret := range []string{out.AccessKey, out.SecretKey, out.SessionToken} {
		d.out.secrets.Add(secret)
	}
	d.out.secrets.AddText(out.Endpoint)
	if _, err := bucket.Open(out.Options); err != nil && !lost && n.Kind == notation.Mapping {
		b.add(n.Line, "spill.bucket: %v", err)
	}
	if f.node.Get("dir") != nil {
		b.add(n.Line, "results go into spill.dir or into spill.bucket, not both")
	}
	b.done()
	return out
}

func (w writer) bucket(n *notation.Node, b *Bucket, secret func(string) string) {
	if b == nil {
		return
	}
	w.section(n, "bucket", func(n *notation.Node) {
		w.string(n, "name", b.Name)
		w.string(n, "endpoint", b.Endpoint)
		w.string(n, "region", b.Region)
		w.string(n, "prefix", b.Prefix)
		w.flag(n, "pathStyle", b.PathStyle)
		for _, key := range []struct{ name, value string }{
			{"accessKey", b.AccessKey}, {"secretKey", b.SecretKey}, {"sessionToken", b.SessionToken},
		} {
			if key.value != "" {
				n.Put(key.name, notation.NewText(variable.Escape(secret(key.value))))
			}
		}
		w.flag(n, "lifecycle", b.Lifecycle)
	})
}
