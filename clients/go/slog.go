//go:build go1.21

package tidings

import (
	"context"
	"log/slog"
	"strings"
)

// LogOptions configure a handler for log/slog.
type LogOptions struct {
	// Channel of the events. Default: "logs".
	Channel string
	// Level is the lowest to send. Default: slog.LevelInfo.
	Level slog.Leveler
	// NotifyLevel notifies the project's members of records from this level. By default, of none.
	NotifyLevel slog.Leveler
	// UserIDKey is the attribute with the user of your application. Default: "userId".
	UserIDKey string
}

// NewLogHandler returns a handler that tracks an event for each record, in the background: the message is the name, and
// attributes are tags, those of groups with dotted keys. A message that is cut stands in the description in full. What
// this package logs itself is left out.
//
//	logger := slog.New(tidings.NewLogHandler(client, tidings.LogOptions{Level: slog.LevelWarn}))
func NewLogHandler(client *Client, options LogOptions) slog.Handler {
	if options.Channel == "" {
		options.Channel = "logs"
	}
	if options.Level == nil {
		options.Level = slog.LevelInfo
	}
	if options.UserIDKey == "" {
		options.UserIDKey = "userId"
	}
	return &logHandler{client: client, options: options}
}

type logHandler struct {
	client  *Client
	options LogOptions
	// Attributes with their whole keys.
	attributes []slog.Attr
	// The open groups, with a dot after each.
	prefix string
}

func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.options.Level.Level()
}

func (h *logHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	child := *h
	child.attributes = append([]slog.Attr(nil), h.attributes...)
	for _, attribute := range attributes {
		child.attributes = appendLeaves(child.attributes, h.prefix, attribute)
	}
	return &child
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	child := *h
	child.prefix += name + "."
	return &child
}

func (h *logHandler) Handle(_ context.Context, record slog.Record) error {
	// As a default logger's handler, it gets what this package logs: an event for each that is dropped would be dropped.
	if strings.HasPrefix(record.Message, "tidings: ") {
		return nil
	}
	event := Event{
		Channel:   h.options.Channel,
		Name:      fitLine(record.Message, nameMax),
		CreatedAt: record.Time,
		Notify:    h.options.NotifyLevel != nil && record.Level >= h.options.NotifyLevel.Level(),
		Tags:      Tags{"level": strings.ToLower(record.Level.String())},
	}
	if strings.TrimSpace(event.Name) == "" {
		event.Name = "Log without a message"
	}
	if strings.HasSuffix(event.Name, "…") {
		event.Description = codeBlock(record.Message)
	}
	attributes := append([]slog.Attr(nil), h.attributes...)
	record.Attrs(func(attribute slog.Attr) bool {
		attributes = appendLeaves(attributes, h.prefix, attribute)
		return true
	})
	for _, attribute := range attributes {
		value := attribute.Value.String()
		if attribute.Key == h.options.UserIDKey && fitLine(value, userIDMax) == value {
			event.UserID = value
			continue
		}
		key := fitLine(attribute.Key, tagKeyMax)
		if len(event.Tags) < tagsMax && strings.TrimSpace(key) != "" {
			event.Tags[key] = fitLines(value, tagValueMax)
		}
	}
	h.client.Track(event)
	return nil
}

func appendLeaves(attributes []slog.Attr, prefix string, attribute slog.Attr) []slog.Attr {
	value := attribute.Value.Resolve()
	if value.Kind() != slog.KindGroup {
		if attribute.Key == "" {
			return attributes
		}
		return append(attributes, slog.Attr{Key: prefix + attribute.Key, Value: value})
	}
	// The attributes of a group without a name are those of its parent.
	if attribute.Key != "" {
		prefix += attribute.Key + "."
	}
	for _, member := range value.Group() {
		attributes = appendLeaves(attributes, prefix, member)
	}
	return attributes
}
