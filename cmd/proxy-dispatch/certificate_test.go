package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/cmd/internal/config"
)

// newPair writes a certificate of a name and its key, as if at that time.
func newPair(t *testing.T, dir, name string, at time.Time) config.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	files := config.TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for file, block := range map[string]*pem.Block{files.Cert: {Type: "CERTIFICATE", Bytes: cert}, files.Key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func TestCertificateFollowsItsFiles(t *testing.T) {
	dir, start := t.TempDir(), time.Now().Add(-time.Hour)
	c, err := loadCertificate(newPair(t, dir, "first", start), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	shows := func(want string) {
		t.Helper()
		c.looked = time.Time{} // a second has passed
		pair, err := c.Get(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(pair.Certificate[0])
		if err != nil || leaf.Subject.CommonName != want {
			t.Errorf("got %s, %v, want %s", leaf.Subject.CommonName, err, want)
		}
	}
	shows("first")
	newPair(t, dir, "second", start.Add(time.Minute))
	shows("second")
	if err := os.WriteFile(c.files.Key, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	shows("second")
	newPair(t, dir, "third", start.Add(2*time.Minute))
	shows("third")
	if _, err := loadCertificate(config.TLS{Cert: "nowhere", Key: "nowhere"}, c.log); err == nil {
		t.Error("files that are not there: no error")
	}
}
