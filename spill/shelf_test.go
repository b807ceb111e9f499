//go:build unix

package spill

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/proxy-dispatch/proxy-dispatch/spill/store"
)

// childDir makes the test binary a process that holds a shelf there until it is killed.
const childDir = "SPILL_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	os.Exit(m.Run())
}

func child(dir string) {
	if keep, ok := strings.CutPrefix(dir, "keep:"); ok {
		writeOn(keep)
		return
	}
	s, err := Open(Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := s.Put(context.Background(), ann, nil, []byte(text("of the child")))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a.Path)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// writeOn keeps results, naming each, until it is killed.
func writeOn(dir string) {
	s, err := Open(Options{Dir: dir, Keep: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := 0; ; i++ {
		raw := `{"content":[{"type":"text","text":"` + strings.Repeat("words ", 50_000) + `"},{"type":"image","mimeType":"image/png","data":"` +
			base64.StdEncoding.EncodeToString(make([]byte, 100_000+i)) + `"}],"n":` + fmt.Sprint(i) + `}`
		a, err := s.Put(context.Background(), ann, nil, []byte(raw))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(a.Handle, a.Path+".txt")
	}
}

// A process killed while it writes leaves whole results and nothing else that is served; what it left half is swept.
func TestKilledWhileWriting(t *testing.T) {
	dir := t.TempDir()
	for n := 1; n <= 5; n++ {
		cmd, _ := startChild(t, "keep:"+dir)
		for range n * 50_000 { // some time, of which nobody knows where it ends
			_ = sumOf(ann, nil, []byte("x"))
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
	s := newShelf(t, Options{Dir: dir, Keep: true})
	if len(s.entries) < 5 {
		t.Fatalf("%d results, want 5 at least", len(s.entries))
	}
	for _, e := range s.entries {
		a, _, err := s.Find(t.Context(), ann, e.Artifact.ID)
		if err != nil {
			t.Fatal(err)
		}
		raw := rawOf(t, s, a)
		if r, ok := dissect([]byte(raw), nil); !ok || len(r.blocks) != 2 || !strings.HasSuffix(raw, "}") {
			t.Errorf("%s is not whole: %d bytes", a.Handle, len(raw))
		}
		if v, err := s.Value(t.Context(), a, 2, ""); err != nil || len(v) < 130_000 {
			t.Errorf("%s#2: %d bytes, %v", a.Handle, len(v), err)
		}
	}
	later := newShelf(t, Options{Dir: dir, Keep: true, Now: func() time.Time { return time.Now().Add(3 * time.Hour) }})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) > 0 || len(later.entries) > 0 {
		t.Errorf("%d files are left of what is old, %v", len(files), err)
	}
}

func TestPrincipalQuota(t *testing.T) {
	now := time.Now()
	s := newShelf(t, Options{QuotaBytes: 100_000, PrincipalBytes: 10_000, PrincipalFiles: 3, Now: func() time.Time { now = now.Add(time.Second); return now }})
	bob := Owner{Principal: "bob", Session: "s2"}
	hers := put(t, s, text("of ann"))
	var his []*Artifact
	for i := range 5 {
		a, err := s.Put(t.Context(), bob, nil, []byte(text(fmt.Sprint("of bob ", i))))
		if err != nil {
			t.Fatal(err)
		}
		his = append(his, a)
	}
	if !exists(hers.Path) || exists(his[1].Path) || !exists(his[2].Path) {
		t.Error("one principal's results made room for another's")
	}
	if _, err := s.Put(t.Context(), bob, nil, []byte(text(strings.Repeat("x", 20_000)))); !errors.Is(err, ErrNoSpace) {
		t.Errorf("above the principal's quota: %v", err)
	}
	if !exists(hers.Path) {
		t.Error("another's result is gone")
	}
}

func TestAllowance(t *testing.T) {
	s := newShelf(t, Options{QuotaBytes: 100_000, PrincipalBytes: 50_000, Allowance: func(p string) (int64, int) {
		return map[string]int64{"small": 1000, "large": 90_000}[p], map[string]int{"small": 2}[p]
	}})
	for principal, fits := range map[string]map[int]bool{"small": {500: true, 2000: false}, "large": {60_000: true, 95_000: false}, "other": {40_000: true, 60_000: false}} {
		for size, want := range fits {
			_, err := s.Put(t.Context(), Owner{Principal: principal, Session: "s"}, nil, []byte(text(strings.Repeat("x", size))))
			if (err == nil) != want || err != nil && !errors.Is(err, ErrNoSpace) {
				t.Errorf("%s, %d bytes: got %v, want it to fit: %v", principal, size, err, want)
			}
		}
	}
}

func TestSameContentOnce(t *testing.T) {
	s := newShelf(t, Options{})
	a, b := put(t, s, text("same")), put(t, s, text("same"))
	other, err := s.Put(t.Context(), Owner{Principal: "bob", Session: "s"}, Sources{{Server: "db", Tool: "query"}}, []byte(text("same")))
	if err != nil {
		t.Fatal(err)
	}
	if a.ID != b.ID || other.ID == a.ID || s.Stats().Files != 2 {
		t.Errorf("%s, %s and of another %s in %d files", a.ID, b.ID, other.ID, s.Stats().Files)
	}
}

// startChild starts such a process and returns the path of its result.
func startChild(t *testing.T, dir string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, ".txt") {
		t.Fatalf("child says %q, %v", line, err)
	}
	return cmd, strings.TrimSpace(line)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestProcessesShareABase(t *testing.T) {
	dir := t.TempDir()
	killed, killedPath := startChild(t, dir)
	_, livingPath := startChild(t, dir)
	mine := newShelf(t, Options{Dir: dir})
	a := put(t, mine, text("mine"))
	for _, path := range []string{killedPath, livingPath, a.Path} {
		if !exists(path) {
			t.Errorf("%s was swept while its process lives", path)
		}
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // it was killed
	other := newShelf(t, Options{Dir: dir})
	put(t, other, text("other"))
	if exists(filepath.Dir(killedPath)) {
		t.Errorf("%s is left over", killedPath)
	}
	for _, path := range []string{livingPath, a.Path} {
		if !exists(path) {
			t.Errorf("%s was swept while its process lives", path)
		}
	}
	if _, _, err := mine.Find(t.Context(), ann, livingPath); err == nil {
		t.Error("a result of another process was found")
	}
}

func TestManyOpenAtOnce(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			s, err := Open(Options{Dir: dir})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			a, err := s.Put(t.Context(), ann, nil, []byte(text("x")))
			if err != nil || !exists(a.Path) {
				t.Errorf("Put: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	group.Wait()
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d folders are left", len(left))
	}
}

func TestModes(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, text("secret"))
	for path, want := range map[string]fs.FileMode{a.Path: 0o600, filepath.Dir(a.Path): 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	if !idForm.MatchString(strings.TrimSuffix(filepath.Base(a.Path), ".txt")) {
		t.Errorf("file name %s has not enough random bits", filepath.Base(a.Path))
	}
}

func TestCloseRemovesAll(t *testing.T) {
	dir := t.TempDir()
	s := newShelf(t, Options{Dir: dir})
	a := put(t, s, `{"content":[{"type":"image","data":"AAAA"},{"type":"text","text":"x"}]}`)
	rawOf(t, s, a)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if _, err := s.Put(t.Context(), ann, nil, []byte(`{}`)); err == nil {
		t.Error("Put works on a closed shelf")
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("no links here")
	}
	s := newShelf(t, Options{Dir: dir})
	a := put(t, s, `{"content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]}`)
	free, err := s.Put(t.Context(), Owner{}, nil, []byte(text("z")))
	if err != nil {
		t.Fatal(err)
	}
	through := strings.Replace(a.Path, dir, link, 1)
	stale := "r1" + strings.Map(func(r rune) rune { return 'a' + (r-'a'+1)%26 }, s.letters)
	tests := []struct {
		name  string
		owner Owner
		query string
		want  *Artifact
		part  Part
		err   error
	}{
		{"handle", ann, a.Handle, a, Data, nil},
		{"part", ann, a.Handle + "#2", a, 2, nil},
		{"raw", ann, a.Handle + "#raw", a, Raw, nil},
		{"no such part", ann, a.Handle + "#3", nil, 0, ErrNotFound},
		{"part zero", ann, a.Handle + "#0", nil, 0, ErrNotFound},
		{"odd part", ann, a.Handle + "#x", nil, 0, ErrNotFound},
		{"id", ann, a.ID, a, Data, nil},
		{"uri", ann, a.URI() + "#1", a, 1, nil},
		{"path", ann, a.Path, a, Data, nil},
		{"path and part", ann, a.Path + "#raw", a, Raw, nil},
		{"path through a link above", ann, through, a, Data, nil},
		{"other session", Owner{Principal: "ann", Session: "s2"}, a.Handle, nil, 0, ErrNotFound},
		{"other principal", Owner{Principal: "bob", Session: "s1"}, a.ID, nil, 0, ErrNotFound},
		{"other principal, path", Owner{Principal: "bob", Session: "s1"}, a.Path, nil, 0, ErrNotFound},
		{"anonymous, handle", Owner{}, a.Handle, nil, 0, ErrNotFound},
		{"anonymous, id of another", Owner{}, a.ID, nil, 0, ErrNotFound},
		{"anonymous, own id", Owner{}, free.Handle, free, Data, nil},
		{"stale", ann, stale, nil, 0, ErrStale},
		{"never given", ann, "r999" + s.letters, nil, 0, ErrNotFound},
		{"word", ann, "handle", nil, 0, ErrNotFound},
		{"empty", ann, "", nil, 0, ErrNotFound},
		{"wrong extension", ann, strings.Replace(a.Path, ".json", ".txt", 1), nil, 0, ErrNotFound},
		{"beside", ann, filepath.Join(filepath.Dir(a.Path), "x"), nil, 0, ErrDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, part, err := s.Find(t.Context(), tt.owner, tt.query)
			if !errors.Is(err, tt.err) || tt.err == nil && (err != nil || got.ID != tt.want.ID || part != tt.part) {
				t.Errorf("Find(%s) = %v, %v, %v, want part %v, %v", tt.query, got, part, err, tt.part, tt.err)
			}
		})
	}
	if free.Handle != free.ID {
		t.Errorf("the anonymous owner got the handle %s", free.Handle)
	}
}

func TestLinkInsideIsNotFollowed(t *testing.T) {
	s := newShelf(t, Options{})
	a := put(t, s, text("x"))
	secret := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.WriteFile(secret, []byte("secret"), 0o600), os.Remove(a.Path)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, a.Path); err != nil {
		t.Skip("no links here")
	}
	for _, name := range []string{a.Handle, a.Path} {
		found, p, err := s.Find(t.Context(), ann, name)
		if err != nil {
			continue
		}
		if got, err := s.Read(t.Context(), found, p, Query{Op: "read"}); !errors.Is(err, ErrDenied) {
			t.Errorf("Read = %+v, %v, want ErrDenied", got, err)
		}
	}
}

func TestAllowedRoots(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write := func(path, data string) string {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(data), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write(filepath.Join(root, "sub", "a#1.json"), `[{"a": 1},{"a": 2}]`)
	secret := write(filepath.Join(outside, "secret"), "secret")
	fifo, inner, outer, folder := filepath.Join(root, "fifo"), filepath.Join(root, "inner"), filepath.Join(root, "outer"), filepath.Join(root, "folder")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.Symlink("sub/a#1.json", inner), os.Symlink(secret, outer), os.Symlink(outside, folder)); err != nil {
		t.Fatal(err)
	}
	s := newShelf(t, Options{AllowedRoots: []string{root}})
	for name, tt := range map[string]struct {
		path string
		err  error
	}{
		"file":          {plain, nil},
		"link inside":   {inner, nil},
		"link out":      {outer, ErrDenied},
		"folder out":    {filepath.Join(folder, "secret"), ErrDenied},
		"fifo":          {fifo, ErrDenied},
		"folder":        {filepath.Dir(plain), ErrDenied},
		"root":          {root, ErrDenied},
		"absent":        {filepath.Join(root, "none"), ErrNotFound},
		"outside":       {secret, ErrDenied},
		"dots":          {root + "/sub/../sub/a#1.json", ErrDenied},
		"part":          {inner + "#1", ErrNotFound},
		"null device":   {"/dev/null", ErrDenied},
		"proc":          {"/proc/self/environ", ErrDenied},
		"neighbour":     {root + "x/a", ErrDenied},
		"relative name": {"sub/a.json", ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			a, p, err := s.Find(t.Context(), ann, tt.path)
			if !errors.Is(err, tt.err) {
				t.Fatalf("Find = %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			got, err := s.Read(t.Context(), a, p, Query{Op: "read", Path: "1.a"})
			if err != nil || got.Text != "2" || a.Kind != "records" || a.Rows != 2 {
				t.Errorf("Read = %+v, %v of %+v", got, err, a)
			}
			if v, err := s.Value(t.Context(), a, p, ""); err != nil || string(v) != `[{"a":1},{"a":2}]` {
				t.Errorf("Value = %s, %v", v, err)
			}
		})
	}
}

// hostileNames are 200 and more names that must open nothing.
func hostileNames(s *Shelf, a *Artifact, secret string) []string {
	dir, file := filepath.Split(a.Path)
	var names []string
	for _, up := range []string{"..", "../..", "../../../../../..", "./..", "..//..", "%2e%2e", "..%2f", `..\..`, "..;", "...", ".."} {
		for _, target := range []string{"/etc/passwd", "/proc/self/environ", secret, "/" + file, "/x"} {
			names = append(names, up+target, dir+up+target, "spill://"+up+target, a.Handle+"/"+up+target)
		}
	}
	for _, path := range []string{
		"/", "//", "/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/self/cmdline", "/proc/1/root/etc/passwd", "/proc/self/fd/0", "/proc/self/cwd/x",
		"/dev/zero", "/dev/random", "/dev/stdin", "/dev/fd/0", "/sys/kernel/uevent_seqnum", "/tmp", dir, strings.TrimSuffix(dir, "/"), filepath.Dir(strings.TrimSuffix(dir, "/")),
		secret, "file://" + secret, "file://" + a.Path, "~/.ssh/id_rsa", "C:\\Windows\\win.ini", `\\host\share\x`, `\\?\C:\x`, "CON", "NUL", "aux.json",
	} {
		names = append(names, path, path+"#1", path+"#raw", path+"\x00", "\x00"+path)
	}
	names = append(names,
		strings.Repeat("a", 5000), "/"+strings.Repeat("a/", 3000), "r"+strings.Repeat("1", 4000), a.Path+"\x00.txt", a.Path+"/", a.Path+"/x", a.Path+" ", a.Path+".tmp",
		" "+a.Path, a.Handle+"\n", a.Handle+" ", " "+a.Handle, a.Handle+"\x00", a.Handle+"#", a.Handle+"##1", a.Handle+"#1#1", a.Handle+"#-1", a.Handle+"#99999999999999999999",
		a.Handle+"#RAW", a.Handle+"?", a.Handle+"*", "*", "r*", strings.ToUpper(a.Handle), a.ID[:25], a.ID+"a", a.ID+".txt", a.ID+"-rest", strings.ToUpper(a.ID), "spill://", "spill:///", "spill:"+a.ID,
		"SPILL://"+a.ID, "http://x/"+a.ID, dir+a.ID, dir+a.ID+".json", dir+a.ID+".meta", dir+"."+file, dir+"_lock", dir+a.ID+".txt.tmp", "r0"+s.letters, "r01"+s.letters, "r-1"+s.letters, "r1", s.letters,
	)
	return names
}

func TestHostileNames(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newShelf(t, Options{AllowedRoots: []string{t.TempDir()}})
	a := put(t, s, text("x"))
	names := hostileNames(s, a, secret)
	if len(names) < 200 {
		t.Fatalf("only %d names", len(names))
	}
	for _, name := range names {
		found, _, err := s.Find(t.Context(), ann, name)
		if err == nil {
			t.Errorf("Find(%.100q) = %+v", name, found)
		} else if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrDenied) && !errors.Is(err, ErrStale) {
			t.Errorf("Find(%.100q): %v is none of the errors a caller knows", name, err)
		} else if len(err.Error()) > 300 {
			t.Errorf("Find(%.100q): a message of %d bytes", name, len(err.Error()))
		}
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(t, Options{TTL: time.Hour})
		a, b := put(t, s, text("a")), put(t, s, text("b"))
		time.Sleep(50 * time.Minute)
		if _, _, err := s.Find(t.Context(), ann, a.Handle); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if exists(b.Path) || !exists(a.Path) {
			t.Errorf("after 80 minutes: used %v, unused %v, want true, false", exists(a.Path), exists(b.Path))
		}
		if _, _, err := s.Find(t.Context(), ann, b.Handle); !errors.Is(err, ErrExpired) {
			t.Errorf("Find of the expired: %v", err)
		}
		if _, _, err := s.Find(t.Context(), Owner{Principal: "bob", Session: "s1"}, b.Handle); !errors.Is(err, ErrNotFound) {
			t.Errorf("Find of another's expired: %v", err)
		}
		if _, err := s.Read(t.Context(), b, Data, Query{}); !errors.Is(err, ErrExpired) {
			t.Errorf("Read of the expired: %v", err)
		}
		if stats := s.Stats(); stats.Files != 1 {
			t.Errorf("%d files, want 1", stats.Files)
		}
	})
}

func TestQuota(t *testing.T) {
	now := time.Now()
	s := newShelf(t, Options{QuotaBytes: 10_000, QuotaFiles: 5, Now: func() time.Time { now = now.Add(time.Second); return now }})
	var all []*Artifact
	for i := range 8 {
		all = append(all, put(t, s, text(fmt.Sprint("result ", i))))
	}
	for i, a := range all {
		if got, want := exists(a.Path), i >= 3; got != want {
			t.Errorf("result %d is there: %v, want %v", i, got, want)
		}
	}
	v, err := s.view(t.Context(), all[3], Data) // the oldest, but in use
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Find(t.Context(), ann, all[4].Handle); err != nil {
		t.Fatal(err)
	}
	big := put(t, s, text(strings.Repeat("x", 9_000)))
	for i, want := range map[int]bool{3: true, 5: false} {
		if exists(all[i].Path) != want {
			t.Errorf("result %d is there: %v, want %v", i, !want, want)
		}
	}
	v.close()
	if _, err := s.Put(t.Context(), ann, nil, []byte(text(strings.Repeat("x", 20_000)))); !errors.Is(err, ErrNoSpace) || !exists(big.Path) {
		t.Errorf("a result above the quota: %v", err)
	}
	if stats := s.Stats(); stats.Bytes > 10_000 || stats.Files > 5 {
		t.Errorf("stats %+v", stats)
	}
}

func TestManyPutsUnderQuota(t *testing.T) {
	s := newShelf(t, Options{QuotaBytes: 1_000_000, QuotaFiles: 1000})
	const n = 1000
	var group sync.WaitGroup
	all := make([]*Artifact, n)
	for i := range n {
		group.Go(func() {
			a, err := s.Put(t.Context(), ann, nil, []byte(text(strings.Repeat(fmt.Sprintf("result %d\n", i), 50))))
			if err != nil {
				t.Errorf("Put: %v", err)
				return
			}
			all[i] = a
		})
	}
	group.Wait()
	handles := map[string]bool{}
	for i, a := range all {
		if a == nil {
			continue
		}
		handles[a.Handle] = true
		found, p, err := s.Find(t.Context(), ann, a.Handle)
		if err != nil {
			t.Errorf("Find: %v", err)
			continue
		}
		got, err := s.Read(t.Context(), found, p, Query{Op: "tail", Lines: 1})
		if want := fmt.Sprintf("result %d", i); err != nil || got.Text != want {
			t.Errorf("%s holds %q, %v, want %q", a.Handle, got.Text, err, want)
		}
	}
	if stats := s.Stats(); len(handles) != n || stats.Files != n {
		t.Errorf("%d handles, %d files, want %d", len(handles), stats.Files, n)
	}
}

// Results come and go while others are read: nothing is mixed, and the account stays right.
func TestEvictionUnderLoad(t *testing.T) {
	s := newShelf(t, Options{QuotaFiles: 20})
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for n := range 40 {
				want := fmt.Sprintf("%d/%d", i, n)
				a, err := s.Put(t.Context(), ann, nil, []byte(`{"content":[{"type":"text","text":"`+want+`"},{"type":"text","text":"x"}]}`))
				if errors.Is(err, ErrNoSpace) {
					continue // all files are being written or read
				}
				if err != nil {
					t.Errorf("Put: %v", err)
					return
				}
				got, err := s.Read(t.Context(), a, 1, Query{Op: "read"})
				if err != nil && !errors.Is(err, ErrExpired) && !errors.Is(err, ErrNoSpace) || err == nil && got.Text != want {
					t.Errorf("Read = %q, %v, want %q", got.Text, err, want)
				}
			}
		})
	}
	group.Wait()
	files, bytes := 0, int64(0)
	list, err := s.store.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		files, bytes = files+1, bytes+o.Size
	}
	if stats := s.Stats(); stats.Files != files || stats.Bytes != bytes || files > 20 {
		t.Errorf("stats %+v, the folder has %d files of %d bytes", stats, files, bytes)
	}
}

// fullDisk is a store that takes no more than so many bytes.
type fullDisk struct {
	store.Store
	left int
}

type fullWriter struct {
	store.Writer
	disk *fullDisk
}

func (d *fullDisk) Create(ctx context.Context, name string) (store.Writer, error) {
	w, err := d.Store.Create(ctx, name)
	return fullWriter{w, d}, err
}

func (w fullWriter) Write(p []byte) (int, error) {
	if w.disk.left -= len(p); w.disk.left < 0 {
		return 0, fmt.Errorf("%w: the disk is full", ErrNoSpace)
	}
	return w.Writer.Write(p)
}

func TestFullDisk(t *testing.T) {
	local, err := store.OpenLocal(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close() })
	disk := &fullDisk{Store: local, left: 1000}
	s := newShelf(t, Options{Store: disk})
	a := put(t, s, text("small"))
	raw := `{"content":[{"type":"image","data":"AAAA"},{"type":"text","text":"` + strings.Repeat("x", 5000) + `"}]}`
	if _, err := s.Put(t.Context(), ann, nil, []byte(raw)); !errors.Is(err, ErrNoSpace) {
		t.Fatalf("Put = %v, want ErrNoSpace", err)
	}
	entries, err := os.ReadDir(local.Dir())
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files are left, want 1 (%v)", len(entries), err)
	}
	if stats := s.Stats(); stats.Files != 1 || stats.Bytes != 5 {
		t.Errorf("stats %+v, want those of the first result", stats)
	}
	if got, err := s.Read(t.Context(), a, Data, Query{Op: "read"}); err != nil || got.Text != "small" {
		t.Errorf("Read = %q, %v", got.Text, err)
	}
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	open := func() *Shelf { return newShelf(t, Options{Dir: dir, Keep: true, Now: func() time.Time { return now }}) }
	first, second := open(), open()
	raw := `{"content":[{"type":"text","text":"one\ntwo"},{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"text","text":"` + strings.Repeat("z", 3000) + `"}]}`
	a := put(t, first, raw)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Shelf{"opened before": second, "opened after": open()} {
		found, p, err := s.Find(t.Context(), ann, a.Handle+"#1")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := s.Read(t.Context(), found, p, Query{Op: "tail", Lines: 1})
		if err != nil || got.Text != "two" || found.Path != a.Path {
			t.Errorf("%s: %q, %v", name, got.Text, err)
		}
		if got := rawOf(t, s, found); got != raw {
			t.Errorf("%s: raw %q", name, got)
		}
	}
	now = now.Add(3 * time.Hour)
	last := open()
	if _, _, err := last.Find(t.Context(), ann, a.Handle); !errors.Is(err, ErrNotFound) {
		t.Errorf("after the TTL: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

func FuzzFind(f *testing.F) {
	secret := filepath.Join(f.TempDir(), "secret")
	s := newShelf(f, Options{AllowedRoots: []string{f.TempDir()}})
	a := put(f, s, text("x"))
	for _, name := range append(hostileNames(s, a, secret), a.Handle, a.Path, a.URI(), a.ID+"#1") {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		found, part, err := s.Find(t.Context(), ann, name)
		if err == nil && (found.ID != a.ID || part < Raw || part > 1) {
			t.Errorf("Find(%q) = %+v, %v", name, found, part)
		}
	})
}
