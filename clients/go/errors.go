package tidings

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Drop is about events that will not be sent.
type Drop struct {
	Reason DropReason
	// Events as they would be sent, with their IDs.
	Events []json.RawMessage
	// Err is why, if there was an error.
	Err error
}

// DropReason is why events were dropped.
type DropReason string

const (
	// Invalid events have a tag that can't be converted.
	Invalid DropReason = "invalid"
	// QueueFull means that QueueMax events were waiting.
	QueueFull DropReason = "queue-full"
	// Rejected events, or their key, were rejected by the server.
	Rejected DropReason = "rejected"
	// Undeliverable means that the server could not be reached before Close.
	Undeliverable DropReason = "undeliverable"
	// Closed events were tracked after Close.
	Closed DropReason = "closed"
)

// ResponseError means that the server rejected the request, or that its last response was a 5xx.
type ResponseError struct {
	Status int
	// Code is the problem's name, such as "body-invalid"; "http-502" or similar if a proxy responded, "redirected" if the
	// address has moved, and "response-invalid" if a 2xx does not come from Tidings.
	Code   string
	Detail string
	Errors []FieldError
	// RetryAfter is how long the server asked to wait.
	RetryAfter time.Duration
}

// FieldError is a fault of one field.
type FieldError struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

func (e *ResponseError) Error() string {
	return fmt.Sprintf("tidings: %s (%s)", e.Detail, e.Code)
}

// NetworkError means that no attempt got a complete response in time.
type NetworkError struct {
	Err error
}

func (e *NetworkError) Error() string {
	return fmt.Sprintf("tidings: no response: %v", e.Err)
}

func (e *NetworkError) Unwrap() error {
	return e.Err
}

// isTemporary tells whether a retry may succeed.
func isTemporary(err error) bool {
	var response *ResponseError
	return !errors.As(err, &response) || isTemporaryStatus(response.Status)
}

func isTemporaryStatus(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
}

// requestedWait returns how long the server asked to wait.
func requestedWait(err error) time.Duration {
	var response *ResponseError
	if errors.As(err, &response) {
		return response.RetryAfter
	}
	return 0
}

// problem is an error as Tidings describes it (RFC 9457).
type problem struct {
	Type   string       `json:"type"`
	Detail string       `json:"detail"`
	Errors []FieldError `json:"errors"`
}

// problemError returns the error for a failed response of Tidings, or of anything else, such as a proxy.
func problemError(status int, found problem, retryAfter time.Duration) *ResponseError {
	if found.Type == "" || found.Detail == "" {
		detail := fmt.Sprintf("The server responded with status %d, without a reason.", status)
		return &ResponseError{status, fmt.Sprintf("http-%d", status), detail, nil, retryAfter}
	}
	code := found.Type[strings.LastIndexByte(found.Type, '/')+1:]
	return &ResponseError{status, code, found.Detail, found.Errors, retryAfter}
}
