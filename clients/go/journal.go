package tidings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
)

const journalSuffix = ".events"

// journal keeps items in a file for each process, in a directory that they share. Its owner holds a lock on it. A file
// without one belonged to a process that has ended, and another process takes over its items. An item that was sent and
// is still in the file is sent again with its ID, and so stored once.
//
// A nil journal keeps nothing. A file that can't be written is logged, and events then wait in memory alone.
type journal struct {
	directory string
	// Of all files in the directory.
	maxBytes int64
	// How many items of other processes are taken over at once.
	maxItems   int
	file       *os.File
	size       int64
	othersSize int64
	// Items that are waiting, but not in the file, because it is full.
	unkept   map[string]bool
	isFull   bool
	isBroken bool
	hasMore  bool
}

func newJournal(directory string, maxBytes int64, maxItems int) *journal {
	return &journal{directory: directory, maxBytes: maxBytes, maxItems: maxItems, unkept: map[string]bool{}}
}

// open returns what ended processes left behind, and is in this one's file now.
func (j *journal) open() []item {
	if j == nil || j.isBroken {
		return nil
	}
	items, err := j.adopt()
	j.note(err)
	return items
}

func (j *journal) append(items, pending []item) {
	if j == nil || len(items) == 0 {
		return
	}
	for _, each := range items {
		j.unkept[each.id] = true
	}
	if !j.isBroken && !j.isFull {
		j.note(j.write(items, pending))
	}
}

// settle forgets what is sent, once nothing is waiting. It returns what others left behind, if it was too much before.
func (j *journal) settle(isWaiting bool) []item {
	if j == nil {
		return nil
	}
	j.isFull = false
	if isWaiting {
		return nil
	}
	j.unkept = map[string]bool{}
	if j.file != nil && !j.isBroken {
		j.note(j.file.Truncate(0))
		j.size = 0
	}
	if j.hasMore {
		return j.open()
	}
	return nil
}

// close leaves what is waiting to the next process. It returns what has no room.
func (j *journal) close(pending []item) []item {
	if j == nil {
		return pending
	}
	if len(pending) > 0 && len(j.unkept) > 0 && !j.isBroken {
		j.note(j.rewrite(pending))
	}
	var left []item
	for _, each := range pending {
		if j.file == nil || j.isBroken || j.unkept[each.id] {
			left = append(left, each)
		}
	}
	if j.file != nil {
		if len(pending) == 0 {
			_ = os.Remove(j.file.Name())
		}
		_ = j.file.Close()
	}
	return left
}

func (j *journal) note(err error) {
	if err != nil {
		j.isBroken = true
		log.Printf("tidings: events are not kept in files any more: %v", err)
	}
}

func (j *journal) write(items, pending []item) error {
	size := int64(len(linesOf(items)))
	if j.size+size > j.room() {
		// Most of the file may have been sent.
		waiting := int64(len(linesOf(pending)))
		j.isFull = waiting+size > j.room() || waiting > j.size/2
		if j.isFull {
			return nil
		}
		if err := j.rewrite(pending); err != nil {
			return err
		}
	}
	return j.writeLines(items)
}

func (j *journal) writeLines(items []item) error {
	if j.file == nil {
		if err := j.create(); err != nil {
			return err
		}
	}
	lines := linesOf(items)
	if _, err := j.file.Write(lines); err != nil {
		return err
	}
	j.size += int64(len(lines))
	for _, each := range items {
		delete(j.unkept, each.id)
	}
	return nil
}

// rewrite writes what is waiting to a new file, as far as there is room.
func (j *journal) rewrite(pending []item) error {
	old := j.file
	if err := j.create(); err != nil {
		return err
	}
	var kept []item
	size := int64(0)
	for _, each := range pending {
		line := int64(len(linesOf([]item{each})))
		if size+line <= j.room() {
			size += line
			kept = append(kept, each)
			delete(j.unkept, each.id)
		} else {
			j.unkept[each.id] = true
		}
	}
	if _, err := j.file.Write(linesOf(kept)); err != nil {
		return err
	}
	j.size = size
	if old != nil {
		_ = os.Remove(old.Name())
		_ = old.Close()
	}
	return nil
}

func (j *journal) room() int64 {
	return j.maxBytes - j.othersSize
}

func (j *journal) create() error {
	if err := os.MkdirAll(j.directory, 0o700); err != nil {
		return err
	}
	for {
		name := fmt.Sprintf("%d-%s%s", os.Getpid(), newEventID(), journalSuffix)
		// Events can have personal data.
		flags := os.O_CREATE | os.O_EXCL | os.O_RDWR | os.O_APPEND
		file, err := os.OpenFile(filepath.Join(j.directory, name), flags, 0o600)
		if err != nil {
			return err
		}
		isLocked, err := lock(file)
		if err != nil {
			_ = os.Remove(file.Name())
			_ = file.Close()
			return err
		}
		if isLocked {
			j.file, j.size = file, 0
			return nil
		}
		// Another process took it for one without an owner.
		_ = file.Close()
	}
}

func (j *journal) adopt() ([]item, error) {
	paths, err := filepath.Glob(filepath.Join(globEscape(j.directory), "*"+journalSuffix))
	if err != nil {
		return nil, err
	}
	j.othersSize, j.hasMore = 0, false
	var items []item
	for _, path := range paths {
		if j.file != nil && path == j.file.Name() {
			continue
		}
		found, size, err := j.adoptFile(path, len(items))
		if err != nil {
			return items, err
		}
		if found == nil {
			j.othersSize += size
			continue
		}
		// Whether or not there is room: what moves from one file to another takes no more.
		if err := j.writeLines(found); err != nil {
			return items, err
		}
		items = append(items, found...)
		_ = os.Remove(path)
	}
	return items, nil
}

// adoptFile returns the items of a file without an owner, or nil and its size.
func (j *journal) adoptFile(path string, adopted int) ([]item, int64, error) {
	file, err := os.Open(path)
	if err != nil {
		// Another process was faster.
		return nil, 0, nil
	}
	defer file.Close()
	isLocked, err := lock(file)
	if err != nil {
		return nil, 0, err
	}
	// Once it is locked, nobody writes to it any more.
	text, err := io.ReadAll(file)
	if err != nil || !isLocked {
		return nil, int64(len(text)), err
	}
	found := itemsIn(text)
	if adopted > 0 && adopted+len(found) > j.maxItems {
		j.hasMore = true
		return nil, int64(len(text)), nil
	}
	return found, 0, nil
}

// globEscape escapes what has a meaning in a pattern.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// linesOf writes items as lines. JSON has no line ends, and paths no spaces.
func linesOf(items []item) []byte {
	var lines bytes.Buffer
	for _, each := range items {
		if each.path != "" {
			id, _ := json.Marshal(each.id)
			fmt.Fprintf(&lines, "%s %s ", each.path, id)
		}
		lines.Write(each.json)
		lines.WriteByte('\n')
	}
	return lines.Bytes()
}

// itemsIn reads lines. The last one may be incomplete, if the process was killed.
func itemsIn(text []byte) []item {
	items := []item{}
	for {
		line, rest, isWhole := bytes.Cut(text, []byte{'\n'})
		if !isWhole {
			return items
		}
		text = rest
		var event struct{ ID string }
		if bytes.HasPrefix(line, []byte{'{'}) {
			if json.Unmarshal(line, &event) == nil && event.ID != "" {
				items = append(items, item{id: event.ID, json: line})
			}
			continue
		}
		path, content, _ := bytes.Cut(line, []byte{' '})
		decoder := json.NewDecoder(bytes.NewReader(content))
		var id string
		var properties json.RawMessage
		if decoder.Decode(&id) == nil && decoder.Decode(&properties) == nil {
			items = append(items, item{id: id, json: properties, path: string(path)})
		}
	}
}
