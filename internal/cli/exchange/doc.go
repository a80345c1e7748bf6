// Package exchange has the commands that hand experience in and take it out: remember, import from several formats,
// put, artifact, export and restore.
package exchange
