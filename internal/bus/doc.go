// Package bus carries what happens to whoever wants to know. Publishing never
// blocks: the road is not to wait for those who look on.
//
// Each subscription has a queue that is bounded in number and bytes. When it is
// full, the newest events are lost to this subscriber, and an event of the kind
// [Lost] stands in their place, so that received and lost together are what was
// published, in order. The newest rather than the oldest: the first records of
// an incident are those that explain it, a queue whose head nobody takes away
// can be sent in batches while it fills, and one gap stays one gap.
package bus
