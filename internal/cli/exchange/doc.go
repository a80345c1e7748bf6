// Package exchange has the commands that write and export data: remember, import, put, artifact, export and restore.
package exchange
