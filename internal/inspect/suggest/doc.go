// Package suggest looks at a project and proposes a policy for an agent that
// works on it: what reads, builds and tests is allowed, what pushes, publishes
// or installs is left to a person, and the network reaches the hosts that the
// project's package managers use.
//
// A proposal is text for a person to read, change and agree to. The package
// writes nothing and decides nothing.
//
// Read next: kits.go (what is known of projects), then policy.go.
package suggest
