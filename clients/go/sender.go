package tidings

import (
	"context"
	"errors"
	"time"
)

// sender is the state of a queue's goroutine.
type sender struct {
	*queue
	journal *journal
	// Neither stored nor dropped, in order; the first inFlight are being sent.
	pending  []item
	inFlight int
	outcomes chan outcome
	cancel   context.CancelFunc
	added    int
	settled  int
	calls    []*flush
	// When to send next; zero if nothing is waiting.
	sendAt       time.Time
	failures     int
	requestBytes int
}

func newSender(q *queue) *sender {
	options := q.client.options
	s := &sender{queue: q, outcomes: make(chan outcome, 1), cancel: func() {}, requestBytes: requestBytes}
	if options.OfflineDir != "" {
		s.journal = newJournal(options.OfflineDir, options.OfflineMaxBytes, options.QueueMax)
	}
	return s
}

func (s *sender) run() {
	s.adopt(s.journal.open())
	timer := time.NewTimer(time.Hour)
	for {
		s.sendNext()
		timer.Stop()
		timer = s.timer()
		select {
		case <-s.wake:
			s.accept(s.take())
		case <-timer.C:
		case sent := <-s.outcomes:
			s.settleOutcome(sent)
		case call := <-s.flushes:
			s.accept(s.take())
			s.addCall(call)
		}
		if s.finishCalls() {
			return
		}
	}
}

func (s *sender) timer() *time.Timer {
	if s.inFlight > 0 || s.sendAt.IsZero() {
		return time.NewTimer(time.Hour)
	}
	return time.NewTimer(time.Until(s.sendAt))
}

// adopt takes over what ended processes left behind, and the journal has.
func (s *sender) adopt(items []item) {
	s.queue.settle(-len(items), s.lastErr)
	s.enqueue(items)
}

func (s *sender) accept(items []item) {
	s.journal.append(items, s.pending)
	s.enqueue(items)
}

func (s *sender) enqueue(items []item) {
	if len(items) == 0 {
		return
	}
	s.pending = append(s.pending, items...)
	s.added += len(items)
	if s.sendAt.IsZero() {
		s.sendAt = time.Now().Add(s.client.options.BatchWait)
	}
	// After a failure, the pause decides when to try again.
	if len(s.pending)-s.inFlight >= s.client.options.BatchEvents && s.failures == 0 {
		s.sendAt = time.Now()
	}
}

func (s *sender) addCall(call *flush) {
	if call.isGivenUp {
		for _, each := range s.calls {
			each.isGivenUp = each.isGivenUp || each.isLast
		}
		return
	}
	call.target = s.added
	s.calls = append(s.calls, call)
	// What the server asked to wait is waited for, the rest of a pause is not.
	if len(s.pending) > 0 && requestedWait(s.lastErr) == 0 {
		s.sendAt = time.Now()
	}
}

func (s *sender) settleOutcome(sent outcome) {
	s.cancel()
	s.inFlight = 0
	if sent.isTooLarge() {
		size := 0
		for _, each := range sent.items {
			size += len(each.json) + 1
		}
		s.requestBytes = size / 2
		s.sendAt = time.Now()
		return
	}
	var failure error
	var kept []item
	rejected := map[error][]item{}
	for index, err := range sent.errs {
		switch {
		case err == nil:
		case isTemporary(err):
			failure = err
			kept = append(kept, sent.items[index])
		default:
			rejected[err] = append(rejected[err], sent.items[index])
		}
	}
	s.pending = append(kept, s.pending[len(sent.items):]...)
	settled := len(sent.items) - len(kept)
	s.settled += settled
	s.queue.settle(settled, failure)
	s.adopt(s.journal.settle(len(s.pending) > 0))
	for err, items := range rejected {
		s.drop(items, Rejected, err)
	}
	s.planNext(failure)
}

func (s *sender) planNext(failure error) {
	now := time.Now()
	if failure == nil {
		s.failures = 0
	} else {
		s.failures++
		for _, call := range s.calls {
			call.attemptsLeft--
		}
	}
	switch {
	case len(s.pending) == 0:
		s.sendAt = time.Time{}
	case failure != nil:
		wait := requestedWait(failure)
		if wait > retryAfterMax {
			wait = retryAfterMax
		}
		s.sendAt = now.Add(wait + backoff(s.failures, pauseMax))
	case len(s.calls) > 0 || len(s.pending) >= s.client.options.BatchEvents:
		s.sendAt = now
	default:
		s.sendAt = now.Add(s.client.options.BatchWait)
	}
}

// finishCalls returns whether the queue ends.
func (s *sender) finishCalls() bool {
	var unfinished []*flush
	for index, call := range s.calls {
		isSent := s.settled >= call.target
		if !isSent && call.attemptsLeft >= 0 && !call.isGivenUp {
			unfinished = append(unfinished, call)
			continue
		}
		var err error
		if !isSent {
			err = s.lastErr
			if err == nil {
				err = errors.New("tidings: there was no time to send all events")
			}
		}
		if call.isLast {
			// The process may end as soon as Close returns.
			s.end()
		}
		call.done <- err
		if call.isLast {
			for _, other := range append(unfinished, s.calls[index+1:]...) {
				other.done <- err
			}
			close(s.ended)
			return true
		}
	}
	s.calls = unfinished
	return false
}

func (s *sender) end() {
	s.cancel()
	unkept := s.journal.close(s.pending)
	if len(unkept) > 0 {
		s.drop(unkept, Undeliverable, s.lastErr)
	}
}

func (s *sender) sendNext() {
	if s.inFlight > 0 || len(s.pending) == 0 || s.sendAt.IsZero() || time.Now().Before(s.sendAt) {
		return
	}
	count, size := 0, 0
	for count < len(s.pending) && count < requestEvents {
		next := s.pending[count]
		size += len(next.json) + 1
		// Properties of a user are a request of their own.
		if count > 0 && (size > s.requestBytes || next.path != "" || s.pending[0].path != "") {
			break
		}
		count++
	}
	s.inFlight = count
	items := append([]item(nil), s.pending[:count]...)
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	go func() { s.outcomes <- s.client.send(ctx, items) }()
}
