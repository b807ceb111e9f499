package main

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/spill/bucket"
)

const (
	abandoned = 24 * time.Hour // an upload unfinished for so long has no process any more
	spillTTL  = 2 * time.Hour  // the shelf's default
)

// openBucket opens the bucket that results are kept in. A program that stays also sees to what killed
// ones left there, beside its work: nobody waits for the bucket.
func (p *program) openBucket(lasting bool) (*bucket.Bucket, error) {
	o := p.cfg.Spill.Bucket.Options
	o.Proxy = http.ProxyFromEnvironment
	b, err := bucket.Open(o)
	if err != nil {
		return nil, err
	}
	p.bucket = b
	if !lasting {
		return b, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { p.tend(ctx, b) })
	p.closers = append(p.closers, func() error { cancel(); work.Wait(); return nil })
	return b, nil
}

// tryTime is how long validate waits for a bucket.
const tryTime = 20 * time.Second

// tryBucket says what is wrong with the bucket of the configuration; nil if there is none, or nothing is.
func (p *program) tryBucket(ctx context.Context) error {
	if p.bucket == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	return p.bucket.Try(ctx)
}

func (p *program) tend(ctx context.Context, b *bucket.Bucket) {
	if p.cfg.Spill.Bucket.Lifecycle {
		ttl := p.cfg.Spill.TTL
		if ttl == 0 {
			ttl = spillTTL
		}
		if err := b.Expire(ctx, ttl); err != nil && ctx.Err() == nil {
			p.log.Warn("the bucket takes no rule to remove old results", "error", err)
		}
	}
	if err := b.Tidy(ctx, time.Now().Add(-abandoned)); err != nil && ctx.Err() == nil {
		p.log.Warn("unfinished uploads stay in the bucket", "error", err)
	}
}
