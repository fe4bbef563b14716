// Package faults runs a whole fleet and breaks it: three real nats-servers,
// three runners and two gateways, each a process in a network namespace of its
// own, and agents that let commands run over HTTP all the while.
//
// Nothing is believed. Each command writes its id into a file of its runner when
// it starts, so how often it was started is counted, whatever any side says of
// it. What has to hold, for each of them:
//
//	started ≤ 1
//	an answer that says it went well      ⇒ started = 1, and every byte of its output is there
//	an answer that says that nothing ran  ⇒ started = 0
//
// and afterwards: every trail verifies, and every record that a stream has
// acknowledged is in it.
//
// Everybody speaks TLS 1.3 with certificates on both sides, the servers among
// themselves as well. Servers are asked, before and after, whether all that they
// keep has three replicas which are up to date; strace counts that it is on the disk
// before it is acknowledged.
//
// It takes root, for the namespaces, and more time than a package of tests may
// take:
//
//	make faults                all faults, some twenty minutes
//	TIPSTAFF_FAULTS=six        the six that CI runs, within two minutes
//	TIPSTAFF_FAULTS='a|b'      those whose name matches
//
// What goes wrong around a single server is beside this package, in e2e/faults*_test.go;
// the comment of package e2e lists it.
//
// Everything stands in PID, mount and network namespaces of the test's own, and
// is gone with it.
package faults
