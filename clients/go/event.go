package tidings

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Tags are free-form key-value pairs of an event. Strings, booleans, numbers, times and fmt.Stringers are sent as
// strings, and pointers as what they point to; nil is omitted.
type Tags map[string]any

// Properties of a user or a group. Times and fmt.Stringers are sent as strings; nil removes a property.
type Properties map[string]any

// Group is a group of users to save, such as a company. Type and ID are required.
type Group struct {
	// Type is "company", "team" or another kind of groups.
	Type string
	// ID is the one that your application gives the group.
	ID string
	// Properties are set, and all others stay.
	Properties Properties
	// UserID becomes a member of the group.
	UserID string
}

// Event is an event to send. Channel and Name are required.
type Event struct {
	Channel string
	Name    string
	// SecondName is stored in addition to Name, as the field "event".
	SecondName string
	// UserID is the user of your application.
	UserID string
	// Icon is an emoji, or another short text such as a file name.
	Icon string
	// Notify notifies the project's members.
	Notify bool
	Tags   Tags
	// Description is Markdown.
	Description string
	// CreatedAt is when it happened, if not now.
	CreatedAt time.Time
	// ID is your own UUIDv7, to send the same event again.
	ID string
}

// sentEvent is an event as it is sent.
type sentEvent struct {
	ID          string            `json:"id,omitempty"`
	Channel     string            `json:"channel"`
	Name        string            `json:"name"`
	Event       string            `json:"event,omitempty"`
	UserID      string            `json:"userId,omitempty"`
	Icon        string            `json:"icon,omitempty"`
	Notify      bool              `json:"notify,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
	Description string            `json:"description,omitempty"`
	CreatedAt   int64             `json:"createdAt,omitempty"`
}

// groupsPath is where groups are saved.
const groupsPath = "/api/groups"

// item is what the queue sends: an event, properties of a user, or a group.
type item struct {
	id string
	// The same bytes are sent each time.
	json []byte
	// The path of the user's properties, or of groups; empty for an event.
	path string
}

func (i item) method() string {
	if i.path == "" || i.path == groupsPath {
		return http.MethodPost
	}
	return http.MethodPatch
}

func (i item) report() json.RawMessage {
	if i.method() == http.MethodPost {
		return i.json
	}
	report, _ := json.Marshal(map[string]any{"userId": i.id, "properties": json.RawMessage(i.json)})
	return report
}

func (e Event) encode() ([]byte, error) {
	tags, err := tagStrings(e.Tags)
	if err != nil {
		return nil, err
	}
	texts := []string{e.Channel, e.Name, e.SecondName, e.UserID, e.Icon, e.Description, e.ID}
	for key, value := range tags {
		texts = append(texts, key, value)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("tidings: %q is not UTF-8", text)
		}
	}
	return json.Marshal(e.sent(tags))
}

func (e Event) sent(tags map[string]string) sentEvent {
	return sentEvent{
		ID:          e.ID,
		Channel:     e.Channel,
		Name:        e.Name,
		Event:       e.SecondName,
		UserID:      e.UserID,
		Icon:        e.Icon,
		Notify:      e.Notify,
		Tags:        tags,
		Description: e.Description,
		CreatedAt:   e.CreatedAt.UnixMilli(),
	}
}

// report returns an event whose tags can't be sent.
func (e Event) report() []json.RawMessage {
	report, _ := json.Marshal(e.sent(nil))
	return []json.RawMessage{report}
}

func encodeProperties(properties Properties) ([]byte, error) {
	sent, err := propertyValues(properties)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sent)
}

// sentGroup is a group as the server takes it.
type sentGroup struct {
	Type       string         `json:"type"`
	ID         string         `json:"id"`
	Properties map[string]any `json:"properties,omitempty"`
	UserID     string         `json:"userId,omitempty"`
}

func (g Group) encode() ([]byte, error) {
	for _, text := range []string{g.Type, g.ID, g.UserID} {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("tidings: %q is not UTF-8", text)
		}
	}
	properties, err := propertyValues(g.Properties)
	if err != nil {
		return nil, err
	}
	return json.Marshal(sentGroup{Type: g.Type, ID: g.ID, Properties: properties, UserID: g.UserID})
}

// report returns a group whose properties can't be sent.
func (g Group) report() []json.RawMessage {
	report, _ := json.Marshal(sentGroup{Type: g.Type, ID: g.ID, UserID: g.UserID})
	return []json.RawMessage{report}
}

func propertyValues(properties Properties) (map[string]any, error) {
	sent := make(map[string]any, len(properties))
	for key, value := range properties {
		value = pointee(value)
		switch value.(type) {
		case nil, bool, int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, float32, float64:
			sent[key] = value
		default:
			text, err := tagString(key, value)
			if err != nil {
				return nil, err
			}
			sent[key] = text
		}
	}
	return sent, nil
}

func tagStrings(tags Tags) (map[string]string, error) {
	texts := make(map[string]string, len(tags))
	for key, value := range tags {
		value = pointee(value)
		if value == nil {
			continue
		}
		text, err := tagString(key, value)
		if err != nil {
			return nil, err
		}
		texts[key] = text
	}
	return texts, nil
}

// pointee returns what a pointer points to, and nil of a nil pointer. Pointers with a text of their own stay.
func pointee(value any) any {
	pointer := reflect.ValueOf(value)
	if pointer.Kind() != reflect.Pointer {
		return value
	}
	if pointer.IsNil() {
		return nil
	}
	target := pointer.Elem().Interface()
	if _, isTime := target.(time.Time); isTime {
		return target
	}
	switch value.(type) {
	case fmt.Stringer, error:
		return value
	}
	return target
}

func tagString(key string, value any) (string, error) {
	switch typed := value.(type) {
	case string:
		return typed, nil
	case bool:
		return strconv.FormatBool(typed), nil
	case int:
		return strconv.Itoa(typed), nil
	case int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(typed), nil
	case float32:
		return strconv.FormatFloat(float64(typed), 'f', -1, 32), nil
	case float64:
		return strconv.FormatFloat(typed, 'f', -1, 64), nil
	case time.Time:
		return isoString(typed), nil
	case time.Duration:
		return typed.String(), nil
	case fmt.Stringer:
		return typed.String(), nil
	case error:
		return typed.Error(), nil
	}
	return "", fmt.Errorf("tidings: the tag %q is %T; send a string, number, boolean or time", key, value)
}

func isoString(value time.Time) string {
	return value.UTC().Format("2006-01-02T15:04:05.000Z")
}

func userPath(userID string) string {
	// URLs lose the segments "." and "..", so the server takes them with a tilde.
	if rest := strings.TrimLeft(userID, "~"); rest == "." || rest == ".." {
		userID = "~" + userID
	}
	return "/api/users/" + url.PathEscape(userID)
}
