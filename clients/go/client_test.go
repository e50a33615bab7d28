package tidings

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
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
			items = append(items, item{id: id, json: []byte(`{"type":"company"}`), path: groupsPath})
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

func TestNothingOfEndedProcessesIsLostWhenItDoesNotFit(t *testing.T) {
	directory := t.TempDir()
	ids := map[string]bool{}
	for process := 0; process < 2; process++ {
		ended := newJournal(directory, 10_000, 100)
		var pending []item
		for number := 0; number < 50; number++ {
			id := newEventID()
			ids[id] = true
			pending = append(pending, item{id: id, json: []byte(`{"id":"` + id + `"}`)})
		}
		ended.append(pending, nil)
		if left := ended.close(pending); len(left) > 0 {
			t.Fatalf("%d events are not kept", len(left))
		}
	}
	// It may have been given less room, and it may be killed too.
	killed := newJournal(directory, 600, 100)
	if found := killed.open(); len(found) != 100 {
		t.Errorf("%d events are taken over", len(found))
	}
	_ = killed.file.Close()
	next := newJournal(directory, 600, 100)
	for _, each := range next.open() {
		delete(ids, each.id)
	}
	if len(ids) > 0 {
		t.Errorf("%d events are lost", len(ids))
	}
	next.close(nil)
}

type wrapped struct{ http.RoundTripper }

func TestNewTakesAWrappedDefaultTransport(t *testing.T) {
	normal := http.DefaultTransport
	defer func() { http.DefaultTransport = normal }()
	http.DefaultTransport = wrapped{normal}
	if _, err := New(Options{BaseURL: "https://tidings.example.com", APIKey: "k"}); err != nil {
		t.Error(err)
	}
}

func TestAnEventThatBeforeSendReplacesKeepsItsID(t *testing.T) {
	beforeSend := func(event *Event) bool {
		*event = Event{Channel: event.Channel, Name: "replaced"}
		return true
	}
	client, err := New(Options{BaseURL: "http://127.0.0.1:1", APIKey: "k", BeforeSend: beforeSend})
	if err != nil {
		t.Fatal(err)
	}
	if id := client.Track(Event{Channel: "c", Name: "n"}); id == "" {
		t.Error("the event has no ID")
	}
}

type broken struct{}

func (broken) String() string { panic("no text") }

func TestPointersAndPanicsOfValues(t *testing.T) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 5e6, time.FixedZone("", 3600))
	number := 7
	var none *time.Time
	tags, err := tagStrings(Tags{"at": &at, "number": &number, "none": none})
	if err != nil || tags["at"] != "2026-11-26T11:00:00.005Z" || tags["number"] != "7" || len(tags) != 2 {
		t.Errorf("%v, %v", tags, err)
	}
	body, err := encodeProperties(Properties{"at": &at, "number": &number, "none": none})
	if err != nil || string(body) != `{"at":"2026-11-26T11:00:00.005Z","none":null,"number":7}` {
		t.Errorf("%s, %v", body, err)
	}
	var dropped []Drop
	onError := func(drop Drop) { dropped = append(dropped, drop) }
	client, err := New(Options{BaseURL: "http://127.0.0.1:1", APIKey: "k", OnError: onError})
	if err != nil {
		t.Fatal(err)
	}
	client.Identify("u1", Properties{"a": broken{}})
	client.Group(Group{Type: "company", ID: "acme", Properties: Properties{"a": broken{}}})
	client.Track(Event{Channel: "c", Name: "n", Tags: Tags{"a": broken{}}})
	if len(dropped) != 3 || dropped[0].Reason != Invalid || dropped[1].Reason != Invalid || dropped[2].Reason != Invalid {
		t.Errorf("%v", dropped)
	}
}

func TestASlowOnErrorHoldsNeitherGoroutinesNorMemory(t *testing.T) {
	release := make(chan struct{})
	var reported int32
	onError := func(drop Drop) {
		<-release
		atomic.AddInt32(&reported, int32(len(drop.Events)))
	}
	client, err := New(Options{BaseURL: "http://127.0.0.1:1", APIKey: "k", OnError: onError, QueueMax: 1, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	client.Track(Event{Channel: "c", Name: "fits"})
	before := runtime.NumGoroutine()
	for number := 0; number < 2_000; number++ {
		client.Track(Event{Channel: "c", Name: "does not fit"})
	}
	if more := runtime.NumGoroutine() - before; more > 10 {
		t.Errorf("there are %d more goroutines", more)
	}
	close(release)
	_ = client.Close(context.Background())
	for deadline := time.Now().Add(5 * time.Second); atomic.LoadInt32(&reported) < refusalsMax; {
		if time.Now().After(deadline) {
			t.Fatalf("%d events are reported", atomic.LoadInt32(&reported))
		}
		time.Sleep(time.Millisecond)
	}
}

func TestCloseSettlesWhatIsLeftBeforeItReturns(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for number := 0; number < 50; number++ {
		dropped := 0
		onError := func(drop Drop) { dropped += len(drop.Events) }
		client, err := New(Options{BaseURL: "http://127.0.0.1:1", APIKey: "k", OnError: onError})
		if err != nil {
			t.Fatal(err)
		}
		client.Track(Event{Channel: "c", Name: "n"})
		if err := client.Close(ended); err == nil || dropped != 1 {
			t.Fatalf("%d events are dropped, %v", dropped, err)
		}
	}
}

func TestCloseWaitsForAnotherClose(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	dropped := 0
	onError := func(drop Drop) { dropped += len(drop.Events) }
	client, err := New(Options{BaseURL: server.URL, APIKey: "k", OnError: onError})
	if err != nil {
		t.Fatal(err)
	}
	client.Track(Event{Channel: "c", Name: "n"})
	limited, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	go func() { _ = client.Close(limited) }()
	for isClosed := false; !isClosed; {
		client.queue.mutex.Lock()
		isClosed = client.queue.isClosed
		client.queue.mutex.Unlock()
	}
	if err := client.Close(context.Background()); err != nil || dropped != 1 {
		t.Errorf("%d events are dropped, %v", dropped, err)
	}
}

func TestResponsesWithoutEndAreNotRead(t *testing.T) {
	part := []byte(strings.Repeat("x", 100_000))
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		writer.Header().Set("content-type", "text/event-stream")
		sent := 0
		for request.Context().Err() == nil && sent < 50*responseBytes {
			_, _ = writer.Write(part)
			sent += len(part)
		}
		if sent >= 50*responseBytes {
			t.Error("all of it was read")
		}
	}))
	defer server.Close()
	client, err := New(Options{BaseURL: server.URL, APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	sent := client.send(context.Background(), []item{{id: "1", json: []byte("{}")}})
	if _, isNetwork := sent.errs[0].(*NetworkError); !isNetwork {
		t.Errorf("the error is %v", sent.errs[0])
	}
	live := &stream{client: client, path: "/"}
	if _, isNetwork := live.connect(context.Background()).(*NetworkError); !isNetwork {
		t.Error("the stream went on")
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
