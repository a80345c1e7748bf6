package question

import (
	"testing"

	"github.com/mneme/mneme/memory/change"
	"github.com/mneme/mneme/memory/frame"
)

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		frame.Read("The ledger service moved from Go 1.24 to Go 1.25 yesterday, because the old version was out of support.",
			"Dana")
	}
}

func BenchmarkCompare(b *testing.B) {
	x := frame.Read("The ledger service is written in Go 1.24.", "Dana")
	y := frame.Read("The ledger service moved from Go 1.24 to Go 1.25 yesterday.", "Dana")
	b.ReportAllocs()
	for b.Loop() {
		change.Compare(x[0], y[0])
	}
}

func BenchmarkVocabulary(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ReadText("The ledger service moved from Go 1.24 to Go 1.25 yesterday, because the old version was out of "+
			"support.", "Dana")
	}
}
