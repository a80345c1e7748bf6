package inference

import (
	"context"

	"github.com/mneme/mneme/memory/learning/wording"
)

// EpisodeWriter summarises old episodes of one thread.
type EpisodeWriter interface {
	// SummarizeEpisodes returns one text made only from the texts of episodes. If the answer cannot be read, the text
	// is empty and the usage is set. Package memory/learning/compress checks the result. Errors are as for
	// Extractor.Extract.
	SummarizeEpisodes(ctx context.Context, episodes []string) (string, Usage, error)
}

// Describer words a procedure that the rules have learned.
type Describer interface {
	// Describe returns a name and a text for each step. If the answer cannot be read, they are empty and the usage is
	// set. Package memory/learning/wording checks the result. Errors are as for Extractor.Extract.
	Describe(ctx context.Context, subject wording.Subject) (wording.Description, Usage, error)
}

// DuplicateJudge checks facts that the rules consider the same. It may reject a pair, but adds none.
type DuplicateJudge interface {
	// JudgeDuplicates reports for each pair whether both texts have the same meaning. If the answer cannot be read or
	// is not about these pairs, the result is empty and the usage is set; the rules then decide. Errors are as for
	// Extractor.Extract.
	JudgeDuplicates(ctx context.Context, pairs [][2]string) ([]bool, Usage, error)
}

// The maximum lengths of answers in tokens, for reservations of a token budget.
const (
	EpisodesAnswerTokens    = 2_500
	DescriptionAnswerTokens = 1_500
	DuplicatesAnswerTokens  = 1_500
)

// DuplicateJudge is a judge that passes the gate first.
func (g *Gate) DuplicateJudge(j DuplicateJudge) DuplicateJudge { return gatedDuplicateJudge{g, j} }

type gatedDuplicateJudge struct {
	gate *Gate
	next DuplicateJudge
}

func (j gatedDuplicateJudge) JudgeDuplicates(ctx context.Context, pairs [][2]string) ([]bool, Usage, error) {
	leave, err := j.gate.enter(ctx)
	if err != nil {
		return nil, Usage{}, err
	}
	defer leave()
	return j.next.JudgeDuplicates(ctx, pairs)
}

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
