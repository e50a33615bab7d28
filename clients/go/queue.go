package tidings

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

const (
	// Of one request, if more events are waiting than BatchEvents.
	requestEvents = 1_000
	requestBytes  = 1_000_000
	// pauseMax is the longest wait between two attempts.
	pauseMax = 30 * time.Second
)

// outcome has an error, or nil, for each item of a request.
type outcome struct {
	items []item
	errs  []error
}

// flush is a call of Flush or Close.
type flush struct {
	// How many items must be settled.
	target       int
	attemptsLeft int
	isLast       bool
	isGivenUp    bool
	done         chan error
}

// queue sends items in order, one request at a time. One goroutine owns the state and never waits for the network, so
// what is tracked is kept in the journal at once; another sends.
type queue struct {
	client *Client
	// Both wake the goroutine, and never block who does.
	wake    chan struct{}
	flushes chan *flush
	// Closed when the goroutine has ended.
	ended    chan struct{}
	refusals refusals

	mutex    sync.Mutex
	incoming []item
	// Items that are neither stored nor dropped.
	waiting   int
	isStarted bool
	isClosed  bool
	lastErr   error
}

func newQueue(client *Client) *queue {
	q := &queue{
		client:  client,
		wake:    make(chan struct{}, 1),
		flushes: make(chan *flush),
		ended:   make(chan struct{}),
	}
	q.refusals.drop = q.drop
	if client.options.OfflineDir != "" && !client.options.Disabled {
		// What an earlier process left behind is sent even if nothing is tracked.
		q.start()
	}
	return q
}

// start is called with the mutex, or before others know the queue.
func (q *queue) start() {
	if !q.isStarted {
		q.isStarted = true
		go newSender(q).run()
	}
}

// add returns at once: it waits for no file and no network.
func (q *queue) add(added item) bool {
	q.mutex.Lock()
	reason, err := DropReason(""), error(nil)
	switch {
	case q.isClosed:
		reason = Closed
	case q.waiting >= q.client.options.QueueMax:
		reason, err = QueueFull, q.lastErr
	default:
		q.start()
		q.waiting++
		q.incoming = append(q.incoming, added)
	}
	q.mutex.Unlock()
	if reason != "" {
		q.refusals.add(added, reason, err)
		return false
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

func (q *queue) drop(items []item, reason DropReason, err error) {
	drop := Drop{Reason: reason, Err: err}
	for _, dropped := range items {
		drop.Events = append(drop.Events, dropped.report())
	}
	q.client.drop(drop)
}

func (q *queue) flush(ctx context.Context, isLast bool) error {
	q.mutex.Lock()
	isStarted, isClosed := q.isStarted, q.isClosed
	q.isClosed = isClosed || isLast
	q.mutex.Unlock()
	if !isStarted {
		return nil
	}
	if isClosed {
		return q.wait(ctx)
	}
	call := &flush{attemptsLeft: q.client.options.Retries, isLast: isLast, done: make(chan error, 1)}
	calling := ctx
	if isLast {
		// What is left is kept or dropped before Close returns, also if its context has ended.
		calling = context.Background()
	}
	if !q.call(calling, call) {
		return ctx.Err()
	}
	select {
	case err := <-call.done:
		return err
	case <-q.ended:
		return call.result()
	case <-ctx.Done():
	}
	if isLast {
		q.call(context.Background(), &flush{isGivenUp: true})
		<-q.ended
		if call.result() == nil {
			return nil
		}
	}
	return ctx.Err()
}

// wait waits for the call of Close that ends the queue.
func (q *queue) wait(ctx context.Context) error {
	select {
	case <-q.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call returns false if the context ends first, for example because OnError takes long.
func (q *queue) call(ctx context.Context, call *flush) bool {
	select {
	case q.flushes <- call:
		return true
	case <-q.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// result returns the call's error after the end of the queue; nil if it came too late.
func (f *flush) result() error {
	select {
	case err := <-f.done:
		return err
	default:
		return nil
	}
}

// take returns what was added.
func (q *queue) take() []item {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	items := q.incoming
	q.incoming = nil
	return items
}

// settle frees the places of items.
func (q *queue) settle(count int, err error) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.waiting -= count
	q.lastErr = err
}

// send makes one request and returns an error, or nil, for each item.
func (c *Client) send(ctx context.Context, items []item) outcome {
	errs := make([]error, len(items))
	if items[0].path != "" {
		var content struct{ OK bool }
		isExpected := func() bool { return content.OK }
		errs[0] = c.attempt(ctx, items[0].method(), items[0].path, items[0].json, &content, isExpected)
		return outcome{items, errs}
	}
	body := []byte{'['}
	for index, each := range items {
		if index > 0 {
			body = append(body, ',')
		}
		body = append(body, each.json...)
	}
	body = append(body, ']')
	var content struct {
		Results []struct {
			OK     bool
			Status int
			problem
		}
	}
	// With its results, the status of a batch doesn't matter.
	isExpected := func() bool { return len(content.Results) == len(items) }
	if err := c.attempt(ctx, http.MethodPost, "/api/events", body, &content, isExpected); err != nil {
		for index := range errs {
			errs[index] = err
		}
		return outcome{items, errs}
	}
	for index, result := range content.Results {
		if !result.OK {
			errs[index] = problemError(result.Status, result.problem, 0)
		}
	}
	return outcome{items, errs}
}

// isTooLarge tells whether a proxy accepts less than the server does.
func (o outcome) isTooLarge() bool {
	var response *ResponseError
	return len(o.items) > 1 && errors.As(o.errs[0], &response) &&
		response.Status == http.StatusRequestEntityTooLarge && o.errs[len(o.errs)-1] == o.errs[0]
}
