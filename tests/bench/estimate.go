package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/proxy-dispatch/proxy-dispatch/tests/fixture"
	"github.com/proxy-dispatch/proxy-dispatch/tokens"
)

// estimates holds estimated tokens against those of the library, on real files, and times a large text.
func (r *rig) estimates() error {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	exact, err := tiktoken.GetEncoding(tokens.Default)
	if err != nil {
		return err
	}
	c, err := tokens.New("")
	if err != nil {
		return err
	}
	const wanted = 40
	worst, squares, files := 0.0, 0.0, 0
	for _, file := range realFiles(wanted) {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		off := 100 * (float64(c.Count(string(text)))/float64(len(exact.EncodeOrdinary(string(text)))) - 1)
		worst, squares, files = max(worst, math.Abs(off)), squares+off*off, files+1
	}
	note := fmt.Sprintf("%d JSON and text files of the Go installation, %.1f%% in the mean", files, math.Sqrt(squares/float64(max(files, 1))))
	if files < wanted {
		note = "TOO FEW FILES: " + note
	}
	r.most("estimated tokens against the exact count, the worst", worst, 5, "%", note)
	var text bytes.Buffer
	for record := range fixture.Orders() {
		if text.Write(record); text.Len() > 50_000_000 {
			break
		}
	}
	var took []float64
	for range 5 * r.rounds {
		began := time.Now()
		if _, _, err := c.Measure(bytes.NewReader(text.Bytes()), int64(text.Len())); err != nil {
			return err
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	r.most("  time for 50 MB", median(took), 15, " ms", "")
	return nil
}

// realFiles are texts of the Go installation that are too long to be counted exactly.
func realFiles(most int) (found []string) {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil
	}
	for _, ends := range []string{".json .txt .md .csv .html", ".go"} {
		_ = filepath.WalkDir(strings.TrimSpace(string(out)), func(name string, d fs.DirEntry, err error) error {
			if ext := filepath.Ext(name); err != nil || !d.Type().IsRegular() || ext == "" || !strings.Contains(ends+" ", ext+" ") {
				return nil
			}
			info, err := d.Info()
			if err != nil || info.Size() <= 32<<10 || info.Size() > 1<<20 || len(found) >= most {
				return nil
			}
			if text, err := os.ReadFile(name); err == nil && utf8.Valid(text) {
				found = append(found, name)
			}
			return nil
		})
	}
	return found
}
