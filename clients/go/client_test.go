package tidings

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/quick"
	"time"
)

func TestEventIDsGrow(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	// Steps of a clock that can be set back, in milliseconds.
	growing := func(steps []int8) bool {
		now := int64(1_700_000_000_000)
		ids := eventIDs{now: func() time.Time { return time.UnixMilli(now) }}
		last := ""
		for _, step := range append(steps, make([]int8, 5_000)...) {
			now += int64(step)
			id := ids.next()
			if id <= last || !form.MatchString(id) {
				t.Logf("%s after %s", id, last)
				return false
			}
			last = id
		}
		return true
	}
	if err := quick.Check(growing, &quick.Config{MaxCount: 20}); err != nil {
		t.Error(err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for header, expected := range map[string]time.Duration{
		"":                              0,
		"soon":                          0,
		"-1":                            0,
		"7":                             7 * time.Second,
		"Thu, 26 Nov 2026 12:00:30 GMT": 30 * time.Second,
		"Thu, 26 Nov 2026 11:00:00 GMT": 0,
	} {
		if found := retryAfter(header, now); found != expected {
			t.Errorf("%q is %v, expected %v", header, found, expected)
		}
	}
}

func TestBackoffIsBounded(t *testing.T) {
	for attempt := 1; attempt < 100; attempt++ {
		if wait := backoff(attempt, pauseMax); wait < 0 || wait > pauseMax || attempt == 1 && wait > backoffBase {
			t.Errorf("attempt %d waits %v", attempt, wait)
		}
	}
}

func TestJournalIsReadAsWritten(t *testing.T) {
	same := func(ids []string, cutAt uint8) bool {
		var items []item
		for _, id := range ids {
			items = append(items, item{id: id, json: []byte(`{"plan":"pro"}`), path: userPath(id)})
			event := Event{Channel: "c", Name: "n", ID: "x" + strings.ToValidUTF8(id, "?")}
			body, err := event.encode()
			if err != nil {
				return false
			}
			items = append(items, item{id: event.ID, json: body})
		}
		text := linesOf(items)
		// A process that is killed leaves an incomplete line.
		if cut := int(cutAt); cut > 0 && cut < len(text) {
			read := itemsIn(text[:len(text)-cut])
			return len(read) < len(items)
		}
		read := itemsIn(text)
		for index, each := range read {
			valid := strings.ToValidUTF8(items[index].id, "\ufffd")
			if string(each.json) != string(items[index].json) || each.path != items[index].path {
				return false
			}
			if each.path == "" && each.id != valid {
				return false
			}
		}
		return len(read) == len(items)
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

func TestFilesHaveALimit(t *testing.T) {
	directory := t.TempDir()
	j := newJournal(directory, 1_000, 100)
	defer j.close(nil)
	var pending []item
	for number := 0; number < 100; number++ {
		each := item{id: newEventID(), json: []byte(`{"name":"` + strings.Repeat("x", 50) + `"}`)}
		j.append([]item{each}, pending)
		pending = append(pending, each)
	}
	paths, _ := filepath.Glob(filepath.Join(directory, "*"))
	if len(paths) != 1 {
		t.Fatalf("the files are %v", paths)
	}
	file, err := os.Stat(paths[0])
	if err != nil || file.Size() > 1_000 || file.Size() < 900 {
		t.Errorf("the file is %v, %v", file, err)
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, options := range []Options{
		{},
		{BaseURL: "tidings.example.com", APIKey: "k"},
		{BaseURL: "https://tidings.example.com", APIKey: "a key"},
		{BaseURL: "https://tidings.example.com", APIKey: "k", Timeout: -1},
	} {
		if client, err := New(options); err == nil || client != nil {
			t.Errorf("%+v: %v", options, err)
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the key was sent elsewhere")
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	defer server.Close()
	client, err := New(Options{BaseURL: server.URL, APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.List(context.Background(), Filters{}, 1, "")
	if response, isResponse := err.(*ResponseError); !isResponse || response.Code != "redirected" {
		t.Errorf("the error is %v", err)
	}
}
