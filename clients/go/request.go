package tidings

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"time"
)

const (
	backoffBase = 200 * time.Millisecond
	backoffMax  = 10 * time.Second
	// retryAfterMax is the longest Retry-After to wait for.
	retryAfterMax = time.Minute
	// responseBytes is more than the results of a batch, or a message of a stream, have.
	responseBytes = 4_000_000
	// The server closes unused connections after 10 seconds.
	idleConnection = 8 * time.Second
)

func newHTTPClient() *http.Client {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	// An application may have wrapped it.
	if normal, isNormal := http.DefaultTransport.(*http.Transport); isNormal {
		transport = normal.Clone()
	}
	transport.IdleConnTimeout = idleConnection
	return &http.Client{
		Transport: transport,
		// Following a redirect would turn the POST into a GET and send the API key to another address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// open returns a response of any status. The error is a NetworkError.
func (c *Client) open(
	ctx context.Context, method, path string, header http.Header, body []byte,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.options.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, &NetworkError{err}
	}
	if header != nil {
		request.Header = header
	}
	request.Header.Set("x-api-key", c.options.APIKey)
	request.Header.Set("user-agent", "tidings-go/"+version)
	if method != http.MethodGet {
		request.Header.Set("content-type", "application/json")
	}
	response, err := c.options.HTTPClient.Do(request)
	if err != nil {
		return nil, &NetworkError{err}
	}
	return response, nil
}

// attempt sends a request once and decodes the JSON of its response, which isExpected must accept.
func (c *Client) attempt(
	ctx context.Context, method, path string, body []byte, content any, isExpected func() bool,
) error {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	response, err := c.open(ctx, method, path, nil, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var source io.Reader = response.Body
	if method != http.MethodGet {
		source = io.LimitReader(source, responseBytes)
	}
	text, err := io.ReadAll(source)
	if err != nil {
		return &NetworkError{err}
	}
	if method != http.MethodGet && len(text) == responseBytes {
		return &NetworkError{errors.New("the response is too long")}
	}
	if json.Unmarshal(text, content) == nil && isExpected() {
		return nil
	}
	return responseError(response, text)
}

// request retries network errors, 408, 429 and 5xx. It returns a ResponseError, a NetworkError, or the context's error.
func (c *Client) request(ctx context.Context, method, path string, content any, isExpected func() bool) error {
	for number := 1; ; number++ {
		err := c.attempt(ctx, method, path, nil, content, isExpected)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait := requestedWait(err)
		if !isTemporary(err) || number > c.options.Retries || wait > retryAfterMax {
			return err
		}
		if err := sleep(ctx, wait+backoff(number, backoffMax)); err != nil {
			return err
		}
	}
}

// responseError returns the error for a response that is not what was expected.
func responseError(response *http.Response, text []byte) error {
	status := response.StatusCode
	switch {
	case status >= 200 && status < 300:
		detail := "The response did not come from Tidings. Check BaseURL."
		return &ResponseError{Status: status, Code: "response-invalid", Detail: detail}
	case status >= 300 && status < 400:
		location := response.Header.Get("location")
		detail := fmt.Sprintf("The server redirects to %q. Use its final address as BaseURL.", location)
		return &ResponseError{Status: status, Code: "redirected", Detail: detail}
	}
	var found problem
	_ = json.Unmarshal(text, &found)
	return problemError(status, found, retryAfter(response.Header.Get("retry-after"), time.Now()))
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3), seconds or a date.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil && date.After(now) {
		return date.Sub(now)
	}
	return 0
}

// backoff is exponential with full jitter, so that clients that failed together don't retry together.
func backoff(attempt int, longest time.Duration) time.Duration {
	limit := longest
	if attempt < 20 && backoffBase<<(attempt-1) < longest {
		limit = backoffBase << (attempt - 1)
	}
	// Before Go 1.20, the numbers of math/rand are the same in each process.
	number, err := rand.Int(rand.Reader, big.NewInt(int64(limit)))
	if err != nil {
		return limit
	}
	return time.Duration(number.Int64())
}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
