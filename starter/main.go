// Command mneme is Mneme's command line: it hands experience in, asks what is known, and shows what
// the pipeline does.
package main

import "github.com/mneme/mneme/internal/cli"

func main() { cli.Main() }
