package bucket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/lifecycle"
)

// Tidy drops uploads below the prefix that began before a time and are still unfinished: what processes
// that were killed leave behind. It shows in no list and is paid for.
func (b *Bucket) Tidy(ctx context.Context, before time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the lister ends with it
	var failed error
	for u := range b.core.ListIncompleteUploads(ctx, b.name, b.prefix, true) {
		if u.Err != nil {
			return errors.Join(failed, fmt.Errorf("list unfinished uploads: %w", meaning(u.Err)))
		}
		if !u.Initiated.Before(before) {
			continue
		}
		if err := b.core.AbortMultipartUpload(ctx, b.name, u.Key, u.UploadID); err != nil {
			failed = errors.Join(failed, fmt.Errorf("drop unfinished upload: %w", err))
		}
	}
	return failed
}

// Expire asks the service to remove by itself what is older than ttl, rounded up to days, and uploads
// unfinished after a day: for the time when no process of ours is there to do it. Other rules of the
// bucket stay. A service without such rules answers with an error.
func (b *Bucket) Expire(ctx context.Context, ttl time.Duration) error {
	rules, err := b.core.GetBucketLifecycle(ctx, b.name)
	var answer minio.ErrorResponse
	switch {
	case errors.As(err, &answer) && answer.Code == "NoSuchLifecycleConfiguration":
		rules = lifecycle.NewConfiguration()
	case err != nil:
		return fmt.Errorf("read the rules of the bucket: %w", err)
	}
	days := lifecycle.ExpirationDays(1 + (ttl-1)/(24*time.Hour))
	id := "expire " + b.prefix
	kept := rules.Rules[:0]
	for _, r := range rules.Rules {
		if r.ID != id {
			kept = append(kept, r)
		} else if r.Status == "Enabled" && r.Expiration.Days == days {
			return nil
		}
	}
	rules.Rules = append(kept, lifecycle.Rule{
		ID: id, Status: "Enabled", RuleFilter: lifecycle.Filter{Prefix: b.prefix},
		Expiration:                     lifecycle.Expiration{Days: days},
		AbortIncompleteMultipartUpload: lifecycle.AbortIncompleteMultipartUpload{DaysAfterInitiation: 1},
	})
	if err := b.core.SetBucketLifecycle(ctx, b.name, rules); err != nil {
		return fmt.Errorf("add a rule to the bucket: %w", err)
	}
	return nil
}
