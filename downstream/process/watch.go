package process

import (
	"bufio"
	"io"
	"strconv"
	"time"
)

const (
	watchLine  = 32 // bytes a line of the watcher may have
	watchGrace = time.Second
)

// Watch is the body of the watcher process. It reads lines "+PGID" and "-PGID" and keeps the set of groups; when
// the input ends, because whoever wrote it ended in whatever way, it ends the groups that are left: TERM, and KILL
// for those that still live a second later. What is no such line is skipped. It gives the error of reading, if any.
func Watch(r io.Reader) error {
	living := map[int]bool{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, watchLine), watchLine)
	for lines.Scan() {
		line := lines.Text()
		if len(line) < 2 {
			continue
		}
		id, err := strconv.Atoi(line[1:])
		if err != nil || id <= 1 { // 0 and 1 mean everybody to the system
			continue
		}
		switch line[0] {
		case '+':
			living[id] = true
		case '-':
			delete(living, id)
		}
	}
	endGroups(living)
	return lines.Err()
}

func endGroups(living map[int]bool) {
	for id := range living {
		(&group{id: id}).terminate()
	}
	for end := time.Now().Add(watchGrace); time.Now().Before(end) && anyLives(living); {
		time.Sleep(5 * time.Millisecond)
	}
	for id := range living {
		(&group{id: id}).kill()
	}
}

func anyLives(living map[int]bool) bool {
	for id := range living {
		if (&group{id: id}).lives() {
			return true
		}
	}
	return false
}
