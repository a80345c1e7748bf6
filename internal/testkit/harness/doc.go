// Package harness runs workers against the Temporal server of the tests: in the test's process, or as processes that a
// test may kill, and with a proxy that holds back an acknowledgement. Servers, databases and records are in package
// testkit, which tests of the store import without this package and Temporal's libraries.
package harness
