package inference

import (
	"context"

	"github.com/mneme/mneme/memory/learning/wording"
)

// EpisodeWriter sums up old episodes of one thread.
type EpisodeWriter interface {
	// SummarizeEpisodes returns one text made only from the texts of episodes. For an answer that cannot be read the
	// text is empty, but there is a usage. Package memory/learning/compress checks the result. Errors are as for
	// Extractor.Extract.
	SummarizeEpisodes(ctx context.Context, episodes []string) (string, Usage, error)
}

// Describer words a procedure that the rules have learned.
type Describer interface {
	// Describe returns a name and a text for each step. For an answer that cannot be read they are empty, but there
	// is a usage. Package memory/learning/wording checks the result. Errors are as for Extractor.Extract.
	Describe(ctx context.Context, subject wording.Subject) (wording.Description, Usage, error)
}

// How long answers are at most, for reservations of a token budget.
const (
	EpisodesAnswerTokens    = 2_500
	DescriptionAnswerTokens = 1_500
)

// EpisodeWriter is a writer that passes the gate first.
func (g *Gate) EpisodeWriter(w EpisodeWriter) EpisodeWriter { return gatedEpisodeWriter{g, w} }

type gatedEpisodeWriter struct {
	gate *Gate
	next EpisodeWriter
}

func (w gatedEpisodeWriter) SummarizeEpisodes(ctx context.Context, episodes []string) (string, Usage, error) {
	leave, err := w.gate.enter(ctx)
	if err != nil {
		return "", Usage{}, err
	}
	defer leave()
	return w.next.SummarizeEpisodes(ctx, episodes)
}

// Describer is a describer that passes the gate first.
func (g *Gate) Describer(d Describer) Describer { return gatedDescriber{g, d} }

type gatedDescriber struct {
	gate *Gate
	next Describer
}

func (d gatedDescriber) Describe(ctx context.Context, s wording.Subject) (wording.Description, Usage, error) {
	leave, err := d.gate.enter(ctx)
	if err != nil {
		return wording.Description{}, Usage{}, err
	}
	defer leave()
	return d.next.Describe(ctx, s)
}
