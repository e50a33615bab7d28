package tidings

import (
	"log"
	"sync"
)

// refusalsMax is how many refused items wait for OnError.
const refusalsMax = 1_000

// refusals passes on items that found the queue full or closed. One goroutine does, so an OnError that takes long neither
// delays Track nor fills the memory.
type refusals struct {
	drop func(items []item, reason DropReason, err error)

	mutex   sync.Mutex
	waiting []refusal
	count   int
	// Items that did not fit.
	missed    int
	isRunning bool
}

// refusal has items that were refused one after the other, for the same reason.
type refusal struct {
	items  []item
	reason DropReason
	err    error
}

func (r *refusals) add(refused item, reason DropReason, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.count == refusalsMax {
		r.missed++
		return
	}
	if last := len(r.waiting) - 1; last < 0 || r.waiting[last].reason != reason {
		r.waiting = append(r.waiting, refusal{reason: reason})
	}
	last := &r.waiting[len(r.waiting)-1]
	last.items, last.err = append(last.items, refused), err
	r.count++
	if !r.isRunning {
		r.isRunning = true
		go r.run()
	}
}

func (r *refusals) run() {
	for {
		waiting, missed := r.take()
		if len(waiting) == 0 {
			return
		}
		for _, each := range waiting {
			r.drop(each.items, each.reason, each.err)
		}
		if missed > 0 {
			log.Printf("tidings: OnError takes too long: it was not called with %d dropped events", missed)
		}
	}
}

func (r *refusals) take() ([]refusal, int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	waiting, missed := r.waiting, r.missed
	r.waiting, r.count, r.missed = nil, 0, 0
	r.isRunning = len(waiting) > 0
	return waiting, missed
}
