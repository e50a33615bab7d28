// Package tidings sends events to Tidings, the self-hosted event tracker, and reads them.
//
//	client, err := tidings.New(tidings.Options{BaseURL: "https://tidings.example.com", APIKey: "tdg_sk_…"})
//	if err != nil {
//		return err
//	}
//	defer client.Close(context.Background())
//	client.Track(tidings.Event{Channel: "payments", Name: "Payment received", Tags: tidings.Tags{"amount": 42}})
package tidings

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"regexp"
	"strings"
	"time"
)

const version = "0.1.0"

// Options configure a client. BaseURL and APIKey are required; zero values are the defaults.
type Options struct {
	// BaseURL is the address of Tidings. It can have a path.
	BaseURL string
	// APIKey is the project's API key, tdg_sk_….
	APIKey string
	// OnError is called with events that will not be sent: in the goroutine of Track if they are invalid, otherwise in
	// two of the client, also at the same time. The one that sends waits for it, so it must not call Flush or Close. The
	// other one has the events that find the queue full or closed; if OnError takes long, it is called with 1,000 of
	// them, and the rest is counted in the log. By default, a line is logged.
	OnError func(Drop)
	// BeforeSend changes an event before it is sent, for example to remove personal data. False drops the event.
	BeforeSend func(*Event) bool
	// OfflineDir is a directory that keeps events until the server has stored them, also after the end of the process.
	// The next process that uses it sends them. Give each project its own. It needs a Unix.
	OfflineDir string
	// OfflineMaxBytes limits all files in OfflineDir. Default: 16 MiB.
	OfflineMaxBytes int64
	// BatchEvents sends when this many events are waiting. Default: 20.
	BatchEvents int
	// BatchWait sends at the latest after this time. Default: 3 s.
	BatchWait time.Duration
	// QueueMax is how many events can wait, for example while the server is down. Others are dropped. Default: 10,000.
	QueueMax int
	// Retries are attempts after the first, of reading requests and of Flush. Default: 4. A negative number is none.
	Retries int
	// Timeout limits each attempt. Default: 10 s.
	Timeout time.Duration
	// HTTPClient is used instead of a client of its own. It must not follow redirects, which would send the key elsewhere.
	HTTPClient *http.Client
	// Disabled sends and reads nothing, for tests.
	Disabled bool
}

// Client sends events in the background and reads them. One for each project and process; goroutines can share it.
type Client struct {
	options Options
	queue   *queue
}

var (
	baseURLPattern = regexp.MustCompile(`^(?i:https?)://[^/?#\s]+[^?#\s]*$`)
	apiKeyPattern  = regexp.MustCompile(`^[\x21-\x7e]+$`)
)

// New returns a client, or an error for invalid options. Close it to send what is left.
func New(options Options) (*Client, error) {
	if !baseURLPattern.MatchString(options.BaseURL) {
		return nil, errors.New("tidings: BaseURL must be the address of Tidings, such as https://tidings.example.com")
	}
	if !apiKeyPattern.MatchString(options.APIKey) {
		return nil, errors.New("tidings: APIKey must be a Tidings API key, such as tdg_sk_…, without spaces")
	}
	options.BaseURL = strings.TrimRight(options.BaseURL, "/")
	setDefault(&options.OfflineMaxBytes, 16<<20)
	setDefault(&options.BatchEvents, 20)
	setDefault(&options.BatchWait, 3*time.Second)
	setDefault(&options.QueueMax, 10_000)
	setDefault(&options.Timeout, 10*time.Second)
	switch {
	case options.OfflineMaxBytes < 0 || options.BatchEvents < 0 || options.BatchWait < 0 || options.QueueMax < 0:
		return nil, errors.New("tidings: OfflineMaxBytes, BatchEvents, BatchWait and QueueMax must not be negative")
	case options.Timeout < 0:
		return nil, errors.New("tidings: Timeout must not be negative")
	case options.Retries < 0:
		options.Retries = 0
	default:
		setDefault(&options.Retries, 4)
	}
	if options.HTTPClient == nil {
		options.HTTPClient = newHTTPClient()
	}
	client := &Client{options: options}
	client.queue = newQueue(client)
	return client, nil
}

func setDefault[Number int | int64 | time.Duration](value *Number, normal Number) {
	if *value == 0 {
		*value = normal
	}
}

// Track queues an event and returns at once, with the event's ID, or an empty string if the event was dropped. It never
// panics; what can't be sent is passed to OnError.
func (c *Client) Track(event Event) (id string) {
	defer func() {
		if thrown := recover(); thrown != nil {
			c.drop(Drop{Reason: Invalid, Events: event.report(), Err: fmt.Errorf("tidings: %v", thrown)})
			id = ""
		}
	}()
	if event.CreatedAt.IsZero() {
		event.CreatedAt = time.Now()
	}
	if event.ID == "" {
		event.ID = newEventID()
	}
	own := event
	if c.options.BeforeSend != nil && !c.options.BeforeSend(&event) {
		return ""
	}
	// It may have replaced the whole event.
	if event.ID == "" {
		event.ID = own.ID
	}
	if event.CreatedAt.IsZero() {
		event.CreatedAt = own.CreatedAt
	}
	body, err := event.encode()
	if err != nil {
		c.drop(Drop{Reason: Invalid, Events: event.report(), Err: err})
		return ""
	}
	if c.options.Disabled || !c.queue.add(item{id: event.ID, json: body}) {
		return ""
	}
	return event.ID
}

// Identify sets properties of a user, in the background, like Track. A nil value removes one; all others stay. It needs
// a secret key with the scope "ingest".
func (c *Client) Identify(userID string, properties Properties) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err := fmt.Errorf("tidings: %v", thrown)
			c.drop(Drop{Reason: Invalid, Events: Event{UserID: userID}.report(), Err: err})
		}
	}()
	body, err := encodeProperties(properties)
	if err != nil {
		c.drop(Drop{Reason: Invalid, Events: Event{UserID: userID}.report(), Err: err})
		return
	}
	if !c.options.Disabled {
		c.queue.add(item{id: userID, json: body, path: userPath(userID)})
	}
}

// Group saves a group of users, such as a company, in the background, like Track. It creates the group if it is new. It
// needs a secret key with the scope "ingest".
func (c *Client) Group(group Group) {
	defer func() {
		if thrown := recover(); thrown != nil {
			c.drop(Drop{Reason: Invalid, Events: group.report(), Err: fmt.Errorf("tidings: %v", thrown)})
		}
	}()
	body, err := group.encode()
	if err != nil {
		c.drop(Drop{Reason: Invalid, Events: group.report(), Err: err})
		return
	}
	if !c.options.Disabled {
		c.queue.add(item{id: group.ID, json: body, path: groupsPath})
	}
}

// Flush sends what was tracked before, and waits. It returns the last error if some of it is still waiting after all
// retries, or the context's.
func (c *Client) Flush(ctx context.Context) error {
	return c.queue.flush(ctx, false)
}

// Close flushes, and drops what can't be sent before the context ends or after all retries, unless OfflineDir keeps it.
// It returns why something was left. Further events are dropped. Other calls of Close wait for the first one.
func (c *Client) Close(ctx context.Context) error {
	return c.queue.flush(ctx, true)
}

// drop reports events, in the goroutine of the caller.
func (c *Client) drop(drop Drop) {
	defer func() {
		if thrown := recover(); thrown != nil {
			log.Printf("tidings: OnError panicked: %v", thrown)
		}
	}()
	if c.options.OnError != nil {
		c.options.OnError(drop)
		return
	}
	log.Printf("tidings: %d events dropped (%s). %v", len(drop.Events), drop.Reason, drop.Err)
}
