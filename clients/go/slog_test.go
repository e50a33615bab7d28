//go:build go1.21

package tidings

import (
	"log/slog"
	"testing"
)

func TestOwnLogsAreLeftOut(t *testing.T) {
	var names []string
	client, err := New(Options{
		BaseURL: "http://127.0.0.1:1",
		APIKey:  "k",
		BeforeSend: func(event *Event) bool {
			names = append(names, event.Name)
			return false
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(NewLogHandler(client, LogOptions{}))
	logger.Info("tidings: 1 events dropped (closed). <nil>")
	logger.Info("Payment declined")
	if len(names) != 1 || names[0] != "Payment declined" {
		t.Errorf("the events are %q", names)
	}
}
