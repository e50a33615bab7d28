package tidings

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

// RequestOptions choose which requests are reported, and with what.
type RequestOptions struct {
	// Channel of the events. Default: "requests".
	Channel string
	// OnlyFailed reports only requests that failed: with a panic, or a status from 500. With Slow, slow ones too.
	OnlyFailed bool
	// Slow gives requests that took at least this long the name "Request slow". Zero is never.
	Slow time.Duration
	// Ignore chooses requests not to report, such as health checks.
	Ignore func(*http.Request) bool
	// Route returns the route's pattern, such as "/orders/{id}"; paths can have personal data. By default, patterns of
	// http.ServeMux are found.
	Route func(*http.Request) string
	// UserID returns the user of your application who sent the request.
	UserID func(*http.Request) string
	// Tags returns further tags.
	Tags func(*http.Request) Tags
}

// ReportRequests returns a handler that tracks an event for each request: "Request failed", "Request slow" or "Request
// finished", with its method, route, status and durationMs.
//
//	http.ListenAndServe(address, client.ReportRequests(mux, tidings.RequestOptions{OnlyFailed: true}))
func (c *Client) ReportRequests(next http.Handler, options RequestOptions) http.Handler {
	if options.Channel == "" {
		options.Channel = "requests"
	}
	if mux, isMux := next.(*http.ServeMux); isMux && options.Route == nil {
		options.Route = func(request *http.Request) string {
			_, pattern := mux.Handler(request)
			return pattern
		}
	}
	return http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		started := time.Now()
		noted := &notedResponse{ResponseWriter: writer, status: http.StatusOK}
		defer func() {
			thrown := recover()
			c.reportRequest(request, noted, time.Since(started), thrown, options)
			if thrown != nil {
				panic(thrown)
			}
		}()
		next.ServeHTTP(noted, request)
	})
}

func (c *Client) reportRequest(
	request *http.Request, response *notedResponse, duration time.Duration, thrown any, options RequestOptions,
) {
	defer func() {
		if thrown := recover(); thrown != nil {
			log.Printf("tidings: a request could not be reported: %v", thrown)
		}
	}()
	// A handler aborts like this on purpose, for example because its client has gone.
	if err, isError := thrown.(error); isError && errors.Is(err, http.ErrAbortHandler) {
		return
	}
	status := response.status
	if thrown != nil {
		status = http.StatusInternalServerError
	}
	isFailed := status >= 500
	isSlow := options.Slow > 0 && duration >= options.Slow
	if options.OnlyFailed && !isFailed && !isSlow || options.Ignore != nil && options.Ignore(request) {
		return
	}
	tags := Tags{"method": request.Method, "status": status, "durationMs": duration.Milliseconds()}
	if options.Route != nil {
		if route := options.Route(request); route != "" {
			tags["route"] = route
		}
	}
	if thrown != nil {
		tags["error"] = fitLines(fmt.Sprint(thrown), tagValueMax)
	}
	if options.Tags != nil {
		for key, value := range options.Tags(request) {
			tags[key] = value
		}
	}
	event := Event{Channel: options.Channel, Name: "Request finished", Tags: tags}
	if isFailed {
		event.Name = "Request failed"
	} else if isSlow {
		event.Name = "Request slow"
	}
	if options.UserID != nil {
		event.UserID = options.UserID(request)
	}
	c.Track(event)
}

// notedResponse notes the status. http.ResponseController finds the writer's other abilities with Unwrap.
type notedResponse struct {
	http.ResponseWriter
	status   int
	hasBegun bool
}

func (r *notedResponse) WriteHeader(status int) {
	// 1xx responses come before the final one.
	if !r.hasBegun && status >= 200 {
		r.status, r.hasBegun = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *notedResponse) Write(body []byte) (int, error) {
	r.hasBegun = true
	return r.ResponseWriter.Write(body)
}

func (r *notedResponse) ReadFrom(body io.Reader) (int64, error) {
	r.hasBegun = true
	return io.Copy(r.ResponseWriter, body)
}

func (r *notedResponse) Flush() {
	if flusher, canFlush := r.ResponseWriter.(http.Flusher); canFlush {
		r.hasBegun = true
		flusher.Flush()
	}
}

func (r *notedResponse) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if hijacker, canHijack := r.ResponseWriter.(http.Hijacker); canHijack {
		r.hasBegun = true
		return hijacker.Hijack()
	}
	return nil, nil, errors.New("tidings: the connection can't be taken over")
}

func (r *notedResponse) Unwrap() http.ResponseWriter {
	return r.ResponseWriter
}
