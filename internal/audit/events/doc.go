// Package events passes events to subscribers. Publishing never blocks, because
// commands must not wait for observers.
//
// Each subscription has a queue that is bounded in number and bytes. When it is
// full, the newest events are lost to this subscriber, and an event of the kind
// [Lost] takes their position; so the received and the lost events together are
// those that were published, in order. The newest events are dropped rather
// than the oldest for three reasons: the first records of an incident explain
// it; a queue whose head stays can be sent in batches while it fills; and a gap
// does not split.
package events
