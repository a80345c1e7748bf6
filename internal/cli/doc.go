// Package cli is the command line mneme: it combines the commands of the packages below it, runs one command line and
// returns its exit code. The program is starter.
package cli
