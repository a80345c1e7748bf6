package memories

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// shapingFlags set how a recall orders its results, and whether it explains the order.
type shapingFlags struct {
	keywords, traversal string
	without, with       []string
	superseded, explain bool
	minScore            float64
}

func (f *shapingFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.keywords, "keyword-query", "", "text that full text and hints search for, instead of the query")
	flags.StringVar(&f.traversal, "traversal", "",
		"weight of the entity graph: flat (the default) or primary")
	flags.StringSliceVar(&f.without, "without", nil,
		"channels and stages to leave out, such as vector or speaker (docs/recall.md)")
	flags.StringSliceVar(&f.with, "with", nil, "stages to use that are off by default, such as rehearse")
	flags.BoolVar(&f.superseded, "superseded", false, "also superseded memories, marked, below their replacements")
	flags.Float64Var(&f.minScore, "min-score", 0,
		"lowest relevance of a result, 0 to 1; 0: no floor "+
			"(default: the best result must reach 0.2, except for tasks and whole texts)")
	flags.BoolVar(&f.explain, "explain", false, "explain the score of each result")
}

// apply sets the fields of a request from the flags.
func (f *shapingFlags) apply(flags *pflag.FlagSet, req *schema.RecallRequest) {
	req.KeywordQuery, req.Traversal, req.Without, req.With = f.keywords, schema.Traversal(f.traversal), f.without, f.with
	req.Superseded, req.Explain = f.superseded, f.explain
	req.MinScore = app.Optional(flags, "min-score", f.minScore)
}

// explanations prints how each score was computed, if requested: one block for each result.
func explanations(t *app.Text, found []schema.RecallResult) {
	for i, r := range found {
		if len(r.Explain) == 0 {
			continue
		}
		t.Line("")
		t.Line("%d. %s", i+1, r.ID)
		for _, step := range r.Explain {
			t.Line("   %s", strings.TrimRight(fmt.Sprintf("%.3f  %-14s %s", step.Score, step.Stage, step.Why), " "))
		}
	}
}
