package forgetting

// What the tests of this package use.
var (
	HasExamples     = hasExamples
	WithoutExamples = withoutExamples
)
