package frame

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDbg(t *testing.T) {
	for _, s := range strings.Split(os.Getenv("S"), "|") {
		for _, x := range tokenize(s) {
			fmt.Print(x.low, "/", x.stem, " ")
		}
		fmt.Println()
		fmt.Print(describe("", s))
	}
}
