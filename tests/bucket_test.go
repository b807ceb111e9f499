package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/proxy-dispatch/proxy-dispatch/tests/s3"
)

var longID = regexp.MustCompile(`\b[a-z2-7]{26}\b`)

// bucketHome is a machine whose proxy keeps results in a bucket; the credentials come from its environment.
func bucketHome(t *testing.T, server s3.Server, bucket, secret string) *home {
	t.Helper()
	spill, _ := json.Marshal(map[string]any{"bucket": map[string]any{
		"name": bucket, "endpoint": server.Endpoint, "accessKey": "${BUCKET_ID}", "secretKey": "${BUCKET_SECRET}",
	}})
	h := newHome(t, config(fmt.Sprintf(`"spill": %s`, spill), fix("fixture")))
	h.env = append(h.env, "BUCKET_ID="+server.AccessKey, "BUCKET_SECRET="+secret)
	return h
}

// TestTwoProxiesOneBucket: what one spilled the other reads, passes on and computes with, also when the
// first is gone.
func TestTwoProxiesOneBucket(t *testing.T) {
	t.Parallel()
	server := s3.Start(t)
	bucket := server.Bucket(t)
	one := bucketHome(t, server, bucket, server.SecretKey).serve(t)
	two := bucketHome(t, server, bucket, server.SecretKey).serve(t)
	report := one.tool("big", `{"bytes":12000000}`, "").ok().text()
	id := longID.FindString(report)
	if id == "" || strings.Contains(report, "path:") {
		t.Fatalf("the report names no long id, or a path:\n%s", report)
	}
	for _, s := range []*session{one, two} {
		s.read(id, `"op":"stat"`).ok().wants("records")
		s.read(id, `"op":"head","lines":3`).ok().wants("item-000001")
		s.read("spill://"+id, `"op":"grep","pattern":"item-000777"`).ok().wants("item-000777")
		s.read(id+"#raw", `"op":"head","lines":2`).ok()
	}
	two.tool("echo", fmt.Sprintf(`{"message":{"$from":%q,"path":"3"}}`, id), "").ok().wants("item-00000")
	if tail := one.read(id, `"op":"tail","lines":2`).ok().text(); tail != two.read(id, `"op":"tail","lines":2`).ok().text() {
		t.Error("the two read different ends")
	}
	if err := one.Close(); err != nil {
		t.Errorf("end of the first proxy: %v", err)
	}
	two.read(id, `"op":"tail","lines":1`).ok()
	three := bucketHome(t, server, bucket, server.SecretKey).serve(t)
	three.read(id, `"op":"slice","fromLine":100,"toLine":101`).ok().wants("item-000101")
	three.read(strings.Repeat("a", 26), "").fails("not_found")
	objects, err := os.ReadDir(filepath.Join(server.Dir, bucket, "proxy-dispatch"))
	if err != nil || len(objects) < 2 {
		t.Errorf("the bucket holds %v, %v", objects, err)
	}
	for _, s := range []*session{one, two, three} {
		if strings.Contains(s.Stderr(), server.SecretKey) || strings.Contains(s.Stderr(), server.AccessKey) {
			t.Error("the log tells the credentials")
		}
	}
}

// TestBucketRefuses: a bucket that takes nothing harms one call, and nobody sees why it could not be.
func TestBucketRefuses(t *testing.T) {
	t.Parallel()
	server := s3.Start(t)
	h := bucketHome(t, server, server.Bucket(t), "not-the-secret-at-all")
	s := h.serve(t)
	got := s.tool("big", `{"bytes":100000}`, "")
	got.fails("internal", "the call has run", "item-000001")
	s.tool("echo", `{"message":"still here"}`, "").ok().wants("still here")
	s.read(strings.Repeat("a", 26), "").fails("internal")
	resolved, err := h.command(t, "config", "--resolved", "--config", h.file).CombinedOutput()
	if err != nil || !strings.Contains(string(resolved), "secretKey: '***'") {
		t.Errorf("config --resolved: %v\n%s", err, resolved)
	}
	for where, text := range map[string]string{"answer": got.text(), "log": s.Stderr(), "configuration": string(resolved)} {
		if strings.Contains(text, "not-the-secret") || strings.Contains(text, server.AccessKey) {
			t.Errorf("the %s tells the credentials:\n%s", where, text)
		}
	}
}

// TestValidateBucket: validate tries whether results can be kept there.
func TestValidateBucket(t *testing.T) {
	t.Parallel()
	server := s3.Start(t)
	bucket := server.Bucket(t)
	for _, tc := range []struct {
		name, bucket, secret, want string
		code                       int
	}{
		{"it works", bucket, server.SecretKey, "bucket " + bucket + ": takes, gives and removes results", 0},
		{"wrong credentials", bucket, "not-the-secret-at-all", "bucket " + bucket + ": write:", 3},
		{"no such bucket", "nowhere-to-be-found", server.SecretKey, "bucket nowhere-to-be-found: write:", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := bucketHome(t, server, tc.bucket, tc.secret)
			cmd := h.command(t, "validate", "--config", h.file)
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tc.code || !strings.Contains(string(out), tc.want) || strings.Contains(string(out), tc.secret) {
				t.Errorf("exit code %d, %v, want %d and %q:\n%s", code, err, tc.code, tc.want, out)
			}
		})
	}
	left, _ := os.ReadDir(filepath.Join(server.Dir, bucket, "proxy-dispatch"))
	if len(left) > 0 {
		t.Errorf("left in the bucket: %v", left)
	}
}
