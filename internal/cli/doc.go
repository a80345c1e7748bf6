// Package cli is the command line mneme: it puts the commands of the packages below it together, runs one command line
// and gives its exit code. The program is starter.
package cli
