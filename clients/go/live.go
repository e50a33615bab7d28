package tidings

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"
)

// idleTimeout is how long a stream may be silent. The server sends something every 15 seconds.
const idleTimeout = 40 * time.Second

// LiveOptions configure a stream.
type LiveOptions struct {
	// LastEventID starts after this event: the LastEventID of an earlier stream.
	LastEventID string
	// OnReset is called if events were missed, because the stream was disconnected for too long: list them.
	OnReset func()
	// OnDeleted is called when events were deleted, whether or not they match.
	OnDeleted func(DeletedEvents)
}

// DeletedEvents were deleted: by ID, or all of these channels, or those of them from before a time.
type DeletedEvents struct {
	IDs      []string  `json:"ids"`
	Channels []string  `json:"channels"`
	Before   time.Time `json:"before"`
}

// Live calls back with new events as they arrive. After a lost connection, or 40 seconds without a heartbeat, it
// reconnects where it was, without gaps or duplicates. It returns the error of the callback or of the context, or a
// *ResponseError if reconnecting is of no use, for example because the key was revoked.
//
// lastEventID is where the stream is. To go on there later, for example after a restart, pass it as an option.
func (c *Client) Live(
	ctx context.Context, filters Filters, options LiveOptions, onEvent func(event StoredEvent, lastEventID string) error,
) error {
	query, err := filters.query()
	if err != nil || c.options.Disabled {
		return err
	}
	s := &stream{client: c, path: "/api/events/stream?" + query.Encode(), options: options, onEvent: onEvent}
	for failures := 1; ; failures++ {
		err := s.connect(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.err != nil {
			return s.err
		}
		if !isTemporary(err) {
			return err
		}
		if s.isAlive {
			failures = 1
		}
		wait := requestedWait(err)
		if wait > retryAfterMax {
			wait = retryAfterMax
		}
		if err := sleep(ctx, wait+backoff(failures, backoffMax)); err != nil {
			return err
		}
	}
}

type stream struct {
	client  *Client
	path    string
	options LiveOptions
	onEvent func(StoredEvent, string) error
	// Whether the last connection had a message.
	isAlive bool
	// The callback's error.
	err error
}

// connect reads the messages of one connection, until it breaks or is silent. They are as the server writes them, with
// one line for each field; the format allows more (https://html.spec.whatwg.org/multipage/server-sent-events.html).
func (s *stream) connect(ctx context.Context) error {
	s.isAlive = false
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(s.client.options.Timeout, cancel)
	defer silence.Stop()
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}
	if s.options.LastEventID != "" {
		header.Set("Last-Event-ID", s.options.LastEventID)
	}
	response, err := s.client.open(ctx, http.MethodGet, s.path, header, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	// A message without end is taken for a connection that broke.
	source := &io.LimitedReader{R: response.Body, N: responseBytes}
	if !strings.HasPrefix(response.Header.Get("content-type"), "text/event-stream") {
		text, err := io.ReadAll(source)
		if err != nil {
			return &NetworkError{err}
		}
		return responseError(response, text)
	}
	fields := map[string]string{}
	for lines := bufio.NewReader(source); ; {
		silence.Reset(idleTimeout)
		line, err := lines.ReadString('\n')
		if err != nil {
			return &NetworkError{err}
		}
		// A callback that takes long is no reason to reconnect.
		silence.Stop()
		if line != "\n" {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			fields[name] = strings.TrimPrefix(value, " ")
			continue
		}
		s.isAlive = true
		if s.err = s.handle(fields); s.err != nil {
			return s.err
		}
		fields = map[string]string{}
		source.N = responseBytes
	}
}

func (s *stream) handle(fields map[string]string) error {
	if id, isThere := fields["id"]; isThere {
		s.options.LastEventID = id
	}
	data := []byte(fields["data"])
	switch fields["event"] {
	case "event":
		var event StoredEvent
		if err := json.Unmarshal(data, &event); err != nil {
			return err
		}
		return s.onEvent(event, s.options.LastEventID)
	case "reset":
		if s.options.OnReset != nil {
			s.options.OnReset()
		}
	case "deleted":
		var deleted DeletedEvents
		if err := json.Unmarshal(data, &deleted); err != nil {
			return err
		}
		if s.options.OnDeleted != nil {
			s.options.OnDeleted(deleted)
		}
	}
	return nil
}
