// Command mneme is Mneme's command line: it stores and recalls memories, and operates an installation.
package main

import "github.com/mneme/mneme/internal/cli"

func main() { cli.Main() }
