// Package s3 runs a real S3 server for a test.
package s3

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Server is what a test needs to reach one. Buckets are folders of Dir.
type Server struct {
	Endpoint             string // http://HOST:PORT
	Dir                  string
	AccessKey, SecretKey string
}

// Start starts a server on a folder of the test and ends it with the test. The test is skipped where
// no versitygw is installed: in PATH, or by tests/s3/install in the folder PROXY_DISPATCH_SERVERS.
func Start(t *testing.T) Server {
	t.Helper()
	program, err := exec.LookPath(filepath.Join(os.Getenv("PROXY_DISPATCH_SERVERS"), "bin", "versitygw"))
	if err != nil {
		program, err = exec.LookPath("versitygw")
	}
	if err != nil {
		t.Skip("no versitygw to test with: tests/s3/install FOLDER installs it, PROXY_DISPATCH_SERVERS=FOLDER names it")
	}
	s := Server{Dir: t.TempDir(), AccessKey: "a-test-access-key", SecretKey: "a-test-secret-key"}
	for range 3 { // somebody may take the port between its choice and its use
		if address := start(t, program, s); address != "" {
			s.Endpoint = "http://" + address
			return s
		}
	}
	t.Fatal("versitygw does not listen")
	return s
}

func start(t *testing.T, program string, s Server) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(program, "--quiet", "--port", address, "--access", s.AccessKey, "--secret", s.SecretKey,
		"posix", "--sidecar", t.TempDir(), s.Dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return address
		}
		select {
		case <-ended:
			return ""
		case <-time.After(20 * time.Millisecond):
		}
	}
	return ""
}

// Bucket makes an empty bucket and returns its name.
func (s Server) Bucket(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(s.Dir, "bucket-")
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(dir)
}
