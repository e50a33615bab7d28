package tidings

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const pageEvents = 1_000

// StoredEvent is an event as the server returns it.
type StoredEvent struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	ChannelID   string            `json:"channelId"`
	UserID      string            `json:"userId"`
	Icon        string            `json:"icon"`
	Notify      bool              `json:"notify"`
	Tags        map[string]string `json:"tags"`
	CreatedAt   time.Time         `json:"createdAt"`
	SecondName  string            `json:"event"`
	Description string            `json:"description"`
}

// Filters choose events. An event must match all.
type Filters struct {
	Channel string
	UserID  string
	Name    string
	// Notify is whether events notify; nil for all.
	Notify *bool
	// From is inclusive, To exclusive. Live streams have neither.
	From, To time.Time
	// Q is a search, such as "pay* -plan=free".
	Q    string
	Tags Tags
	// Ascending lists the oldest first. Live streams ignore it.
	Ascending bool
}

// Page is a part of a listing.
type Page struct {
	Events []StoredEvent
	// NextCursor is empty on the last page and without a limit.
	NextCursor string
}

// List returns up to 1,000 events after a cursor, newest first. With a limit of 0, it returns all at once. The error is
// a *ResponseError, a *NetworkError, or the context's.
func (c *Client) List(ctx context.Context, filters Filters, limit int, cursor string) (Page, error) {
	if c.options.Disabled {
		return Page{}, nil
	}
	query, err := filters.query()
	if err != nil {
		return Page{}, err
	}
	if limit != 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	var content struct {
		OK         bool
		Events     []StoredEvent
		NextCursor string
	}
	isExpected := func() bool { return content.OK }
	err = c.request(ctx, http.MethodGet, "/api/events?"+query.Encode(), &content, isExpected)
	return Page{content.Events, content.NextCursor}, err
}

// Events iterates over all matching events, page by page:
//
//	events := client.Events(ctx, tidings.Filters{Q: "plan=pro amount>100"})
//	for events.Next() {
//		fmt.Println(events.Event().Name)
//	}
//	return events.Err()
func (c *Client) Events(ctx context.Context, filters Filters) *Events {
	return &Events{client: c, ctx: ctx, filters: filters, hasMore: true}
}

// Events is an iterator over events. One goroutine can use it.
type Events struct {
	client  *Client
	ctx     context.Context
	filters Filters
	page    Page
	// The number of the current event on the page, from 1.
	position int
	hasMore  bool
	err      error
}

// Next goes to the next event. It returns false at the end, or if a page could not be read.
func (e *Events) Next() bool {
	e.position++
	for e.err == nil && e.position > len(e.page.Events) && e.hasMore {
		e.page, e.err = e.client.List(e.ctx, e.filters, pageEvents, e.page.NextCursor)
		e.position, e.hasMore = 1, e.page.NextCursor != ""
	}
	return e.err == nil && e.position <= len(e.page.Events)
}

// Event returns the current event.
func (e *Events) Event() StoredEvent {
	return e.page.Events[e.position-1]
}

// Err returns why Next returned false; nil at the end.
func (e *Events) Err() error {
	return e.err
}

func (f Filters) query() (url.Values, error) {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	set("channel", f.Channel)
	set("userId", f.UserID)
	set("name", f.Name)
	set("q", f.Q)
	if f.Notify != nil {
		set("notify", strconv.FormatBool(*f.Notify))
	}
	if !f.From.IsZero() {
		set("from", isoString(f.From))
	}
	if !f.To.IsZero() {
		set("to", isoString(f.To))
	}
	if f.Ascending {
		set("order", "asc")
	}
	tags, err := tagStrings(f.Tags)
	for key, value := range tags {
		query.Set("tag."+key, value)
	}
	return query, err
}
