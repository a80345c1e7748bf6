package memories

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/schema"
)

// taskFlags describe the caller's task, and the shape of the answer.
type taskFlags struct {
	intent, signature string
	budget            int
	layers, expand    bool
	payload           bool
}

func (f *taskFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.intent, "intent", "",
		"the task, as a label or a few words; the answer comes in layers")
	flags.StringVar(&f.signature, "error-signature", "",
		"the error to solve, as it was reported; the answer comes in layers")
	flags.IntVar(&f.budget, "budget", 0, "maximum number of tokens of the answer, estimated; the answer comes in layers")
	flags.BoolVar(&f.layers, "layers", false, "answer in layers: working, semantic, competence, plan, episodic")
	flags.BoolVar(&f.payload, "payload", false,
		"add the structured payloads of the results: the steps of a procedure, the nodes of a plan")
	flags.BoolVar(&f.expand, "expand", false,
		"add supplementary rows: transcripts, sources, reasons, texts, cards")
}

// apply sets the fields of a request from the flags.
func (f *taskFlags) apply(flags *pflag.FlagSet, req *schema.RecallRequest) {
	req.Layers, req.Expand, req.Payload = f.layers, f.expand, f.payload
	if flags.Changed("intent") || flags.Changed("error-signature") || flags.Changed("budget") {
		req.Task = &schema.Task{Intent: f.intent, ErrorSignature: f.signature, BudgetTokens: f.budget}
	}
}

// inLayers returns the rows in the order of the output: results in the order of the layers, if there are any, and then
// supplements.
func inLayers(response schema.RecallResponse) (found, extra []schema.RecallResult) {
	places := map[string]int{}
	for _, layer := range response.Layers {
		for _, id := range layer.IDs {
			places[id] = len(places)
		}
	}
	for _, r := range response.Results {
		if r.Supplementary {
			extra = append(extra, r)
		} else {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b schema.RecallResult) int { return cmp.Compare(places[a.ID], places[b.ID]) })
	return found, extra
}

// payloads prints the structured payloads of results, if requested.
func payloads(t *app.Text, found []schema.RecallResult) {
	for _, r := range found {
		switch {
		case len(r.Payload) > 0:
			t.Line("")
			t.Line("payload of %s: %s", r.ID, r.Payload)
		case r.PayloadLeftOut:
			t.Line("")
			t.Line("payload of %s: omitted, because the budget is used up", r.ID)
		}
	}
}

// layersLine prints the number of results in each layer.
func layersLine(t *app.Text, layers []schema.Layer) {
	if len(layers) == 0 {
		return
	}
	parts, tokens := make([]string, 0, len(layers)), 0
	for _, layer := range layers {
		parts = append(parts, fmt.Sprintf("%d %s", len(layer.IDs), layer.Name))
		tokens += layer.Tokens
	}
	t.Line("layers: %s (about %d tokens)", strings.Join(parts, ", "), tokens)
}

// selections prints the record selected for the task and the reason, or the context that would decide.
func selections(t *app.Text, all []schema.Selection) {
	for _, s := range all {
		t.Line("")
		if s.Selected != "" {
			t.Line("%s selected: %s (confidence %s)", s.Layer, s.Selected, app.Number(s.Confidence))
		} else {
			t.Line("no %s selected (confidence %s, needed %s)", s.Layer, app.Number(s.Confidence),
				app.Number(s.Threshold))
		}
		rows := make([][]string, 0, len(s.Candidates))
		for _, c := range s.Candidates {
			rows = append(rows, []string{app.Number(c.Score), string(c.Applicability), app.Number(c.Match),
				fmt.Sprintf("%d/%d (%s)", c.Successes, c.Successes+c.Failures, app.Number(c.SuccessRate)),
				app.When(c.ReinforcedAt), c.ID})
		}
		t.Table("SCORE APPLIES MATCH SUCCESS REINFORCED ID", rows)
		if len(s.MissingContext) > 0 {
			t.Line("it would help to know: %s", app.OneLine(missing(s.MissingContext)))
		}
	}
}

func missing(keys []schema.MissingKey) string {
	parts := make([]string, 0, len(keys))
	for _, k := range keys {
		part := k.Key
		values := make([]string, 0, len(k.Values))
		for _, v := range k.Values {
			values = append(values, string(v))
		}
		if len(values) > 0 {
			part += " (" + strings.Join(values, ", ") + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// supplements prints the supplementary rows.
func supplements(t *app.Text, extra []schema.RecallResult) {
	if len(extra) == 0 {
		return
	}
	t.Line("")
	rows := make([][]string, 0, len(extra))
	for _, r := range extra {
		rows = append(rows, []string{supplementKind(r), r.OccurredAt.Local().Format("2006-01-02"), r.ID,
			who(r) + r.Content})
	}
	t.Table("SUPPLEMENT DATE ID TEXT", rows)
}

func supplementKind(r schema.RecallResult) string {
	if r.Supplement == nil {
		return "supplement"
	}
	return string(r.Supplement.Kind)
}
