package tidings

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

const (
	counterMax     = 0xfff
	counterSeedMax = 0x7ff
)

// eventIDs makes event IDs: UUIDv7 (RFC 9562, section 5.7), each greater than the one before. Within a millisecond, and
// when the clock is set back, the 12 bits of rand_a count up from a random seed (section 6.2, method 1). If they are
// used up, the timestamp runs a millisecond ahead. 62 random bits follow.
type eventIDs struct {
	now     func() time.Time
	mutex   sync.Mutex
	lastMs  uint64
	counter uint64
}

var newEventID = (&eventIDs{now: time.Now}).next

func (e *eventIDs) next() string {
	var random [10]byte
	// It only fails where the system has no random numbers at all; Track reports that.
	if _, err := rand.Read(random[:]); err != nil {
		panic(err)
	}
	seed := uint64(binary.BigEndian.Uint16(random[8:])) & counterSeedMax
	e.mutex.Lock()
	ms := uint64(e.now().UnixMilli())
	switch {
	case ms > e.lastMs:
		e.lastMs, e.counter = ms, seed
	case e.counter < counterMax:
		e.counter++
	default:
		e.lastMs, e.counter = e.lastMs+1, seed
	}
	head := e.lastMs<<16 | 0x7000 | e.counter
	e.mutex.Unlock()
	tail := 1<<63 | binary.BigEndian.Uint64(random[:8])>>2
	digits := fmt.Sprintf("%016x%016x", head, tail)
	return digits[:8] + "-" + digits[8:12] + "-" + digits[12:16] + "-" + digits[16:20] + "-" + digits[20:]
}
