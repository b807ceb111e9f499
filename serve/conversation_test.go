package serve

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the recorded conversations")

// TestConversations plays each file in testdata: every line of "in" is sent, and the lines that come
// back before the next one is sent are recorded in "out".
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations found: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := converse(t, archive.Files[0].Data)
			if *update {
				archive.Files = []txtar.File{archive.Files[0], {Name: "out", Data: got}}
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), string(got)); diff != "" {
				t.Errorf("conversation differs (-want +got):\n%s", diff)
			}
		})
	}
}

// converse sends one line at a time and marks the end of its answers with a ping of its own.
func converse(t *testing.T, in []byte) []byte {
	k := startStdio(t, Options{Face: newFakeFace(), Version: "1.0", MaxMessage: 2000})
	var record bytes.Buffer
	for line := range strings.Lines(string(in)) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "LONG", strings.Repeat("x", 3000))
		k.send(line)
		m, bad := parseMessage([]byte(line))
		slow := bad == nil && m.id != nil && m.method != "" && !quick(m.method)
		if slow && !strings.Contains(line, `"wait"`) && m.method != "subscriptions/listen" {
			for {
				answer := k.read()
				record.WriteString(answer + "\n")
				if !strings.Contains(answer, `"method"`) {
					break
				}
			}
			continue
		}
		if slow && m.method == "subscriptions/listen" {
			record.WriteString(k.read() + "\n" + k.read() + "\n")
			continue
		}
		k.send(`{"jsonrpc":"2.0","id":"end of answers","method":"ping"}`)
		for answer := k.read(); !strings.Contains(answer, "end of answers"); answer = k.read() {
			record.WriteString(answer + "\n")
		}
	}
	k.in.Close()
	if err := <-k.done; err != nil {
		t.Errorf("Stdio: got %v, want nil", err)
	}
	return record.Bytes()
}

func TestStdioNeedsFace(t *testing.T) {
	if err := Stdio(context.Background(), Options{}, strings.NewReader(""), io.Discard); err == nil {
		t.Error("Stdio without a face: got nil, want an error")
	}
}
