// Command driver is what the tests of this client run: `driver SCENARIO`, with settings in JSON on the standard input.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sort"
	"sync"
	"syscall"
	"time"

	"tidings.example/tidings"
)

type settings struct {
	URL, Key, Channel, Directory, LastEventID string
	Count, Window, PauseMs, FlushEvery        int
	QueueMax                                  int
	Close                                     float64
	Kill, Report                              bool
}

var (
	given   settings
	mutex   sync.Mutex
	dropped = [][2]string{}
	ctx     = context.Background()
)

func main() {
	check(json.NewDecoder(os.Stdin).Decode(&given))
	scenarios := map[string]func(){
		"hostile":    hostile,
		"ending":     ending,
		"delay":      delay,
		"live":       live,
		"read":       read,
		"queue-full": queueFull,
		"requests":   requests,
	}
	scenarios[os.Args[1]]()
}

func newClient(options tidings.Options) *tidings.Client {
	options.BaseURL, options.APIKey, options.OfflineDir = given.URL, given.Key, given.Directory
	options.QueueMax = given.QueueMax
	if options.QueueMax == 0 {
		options.QueueMax = 200_000
	}
	options.OnError = func(drop tidings.Drop) {
		mutex.Lock()
		defer mutex.Unlock()
		for _, text := range drop.Events {
			var event struct{ Name string }
			check(json.Unmarshal(text, &event))
			dropped = append(dropped, [2]string{event.Name, string(drop.Reason)})
		}
	}
	client, err := tidings.New(options)
	check(err)
	return client
}

func track(client *tidings.Client) {
	for number := 0; number < given.Count; number++ {
		client.Track(tidings.Event{
			Channel: given.Channel,
			Name:    fmt.Sprint("n ", number),
			Tags:    tidings.Tags{"number": number},
		})
		if given.FlushEvery > 0 && number%given.FlushEvery == 0 {
			_ = client.Flush(ctx)
		}
		if number%100 == 99 {
			time.Sleep(time.Duration(given.PauseMs) * time.Millisecond)
		}
	}
}

func hostile() {
	client := newClient(tidings.Options{Timeout: time.Second, BatchWait: 10 * time.Millisecond})
	track(client)
	client.Track(tidings.Event{Name: "no channel"})
	client.Track(tidings.Event{Channel: "c", Name: "no tag", Tags: tidings.Tags{"nested": struct{}{}}})
	for client.Flush(ctx) != nil {
	}
	check(client.Close(ctx))
	client.Track(tidings.Event{Channel: "c", Name: "too late"})
	printDropped(3)
}

func ending() {
	client := newClient(tidings.Options{BatchWait: time.Hour})
	track(client)
	if given.Kill {
		// The file is written within a moment, not at once.
		time.Sleep(500 * time.Millisecond)
		check(syscall.Kill(os.Getpid(), syscall.SIGKILL))
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(given.Close*float64(time.Second)))
	defer cancel()
	_ = client.Close(limited)
	if given.Report {
		printDropped(0)
	}
}

// delay prints how long Track takes, and the same work without a queue, alternately: p99.9 of each window, in
// milliseconds.
func delay() {
	client := newClient(tidings.Options{Timeout: 30 * time.Second})
	tracked, control := make([]float64, given.Count), make([]float64, given.Count)
	for number := range tracked {
		begin := time.Now()
		client.Track(tidings.Event{Channel: "delay", Name: fmt.Sprint("n ", number), Tags: tidings.Tags{"number": number}})
		middle := time.Now()
		_, _ = json.Marshal(map[string]any{"channel": "delay", "name": fmt.Sprint("n ", number)})
		tracked[number] = float64(middle.Sub(begin)) / 1e6
		control[number] = float64(time.Since(middle)) / 1e6
		if number%20 == 19 {
			time.Sleep(time.Millisecond)
		}
	}
	windows := [][2]float64{}
	for at := 0; at < given.Count; at += given.Window {
		end := at + given.Window
		windows = append(windows, [2]float64{percentile(tracked[at:end], 0.999), percentile(control[at:end], 0.999)})
	}
	printJSON(windows)
}

func percentile(times []float64, share float64) float64 {
	sort.Float64s(times)
	return times[int(float64(len(times))*share)]
}

func live() {
	client := newClient(tidings.Options{})
	fmt.Println("connecting")
	isEnd := errors.New("the end")
	options := tidings.LiveOptions{LastEventID: given.LastEventID}
	filters := tidings.Filters{Channel: given.Channel}
	err := client.Live(ctx, filters, options, func(event tidings.StoredEvent, id string) error {
		printJSON([]string{event.Name, id})
		if event.Name == "end" {
			return isEnd
		}
		return nil
	})
	if err != isEnd {
		check(err)
	}
}

func read() {
	client := newClient(tidings.Options{})
	names := []string{}
	events := client.Events(ctx, tidings.Filters{Channel: given.Channel, Ascending: true})
	for events.Next() {
		names = append(names, events.Event().Name)
	}
	check(events.Err())
	page, err := client.List(ctx, tidings.Filters{Channel: given.Channel}, 2, "")
	check(err)
	client.Identify("u1", tidings.Properties{"plan": "pro", "seats": 5, "trial": nil})
	client.Identify("..", tidings.Properties{"plan": "dots"})
	group := tidings.Properties{"plan": "team", "trial": nil}
	client.Group(tidings.Group{Type: "company", ID: "acme", Properties: group, UserID: "u1"})
	client.Group(tidings.Group{Type: "company", ID: "acme", Properties: tidings.Properties{"seats": 5}})
	check(client.Close(ctx))
	printJSON(map[string]any{"names": names, "page": len(page.Events), "hasMore": page.NextCursor != ""})
}

func queueFull() {
	client := newClient(tidings.Options{BatchWait: time.Hour, BatchEvents: 100_000})
	track(client)
	printDropped(2)
}

// requests sends requests to a small site and prints their statuses.
func requests() {
	client := newClient(tidings.Options{})
	mux := http.NewServeMux()
	answer := func(writer http.ResponseWriter, _ *http.Request) { fmt.Fprint(writer, "ok") }
	mux.HandleFunc("/healthz", answer)
	mux.HandleFunc("/orders/", answer)
	mux.HandleFunc("/slow", func(writer http.ResponseWriter, request *http.Request) {
		time.Sleep(250 * time.Millisecond)
		answer(writer, request)
	})
	mux.HandleFunc("/broken/", func(http.ResponseWriter, *http.Request) { panic(errors.New("no stock")) })
	handler := client.ReportRequests(mux, tidings.RequestOptions{
		Channel: given.Channel,
		Slow:    200 * time.Millisecond,
		Ignore:  func(request *http.Request) bool { return request.URL.Path == "/healthz" },
		UserID:  func(*http.Request) string { return "u1" },
		Tags:    func(*http.Request) tidings.Tags { return tidings.Tags{"region": "eu"} },
	})
	statuses := []int{}
	for _, path := range []string{"/healthz", "/orders/ada@example.com?token=x", "/slow", "/broken/7", "/nowhere"} {
		recorder := httptest.NewRecorder()
		func() {
			// net/http ends the connection.
			defer func() {
				if recover() != nil {
					recorder.Code = http.StatusInternalServerError
				}
			}()
			handler.ServeHTTP(recorder, httptest.NewRequest("GET", path, nil))
		}()
		statuses = append(statuses, recorder.Code)
	}
	check(client.Close(ctx))
	printJSON(statuses)
}

// printDropped waits for a number of reports, which other goroutines make.
func printDropped(count int) {
	for {
		mutex.Lock()
		if len(dropped) >= count {
			break
		}
		mutex.Unlock()
		time.Sleep(time.Millisecond)
	}
	sort.Slice(dropped, func(i, j int) bool { return dropped[i][0] < dropped[j][0] })
	printJSON(dropped)
}

func printJSON(value any) {
	check(json.NewEncoder(os.Stdout).Encode(value))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
