package recall_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/memory/timeexpr"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
)

// leakRedactedWhy are the only allowed explanations for the rank of a redacted memory.
var leakRedactedWhy = map[schema.Redaction]string{schema.RedactedSummary: "above the limit: scored by its safe " +
	"summary alone",
	schema.RedactedMetadata: "above the limit: its words do not count, and it ranks after what can be read"}

// judge checks an answer against the model.
func (w *leakWorld) judge(q leakQuery, out schema.RecallResponse) error {
	named := map[string]bool{out.RetrievalID: true}
	returned := map[string]bool{}
	for _, x := range out.Results {
		row := w.byID[x.ID]
		switch {
		case x.Supplementary:
			w.extra.Add(1)
			w.count(string(x.Supplement.Kind))
			named[x.ID] = true // its references are checked by its words, below
			continue
		case row == nil:
			return fmt.Errorf("%s is not a memory", x.ID)
		case x.Redacted != "":
			if q.redacts(row) != x.Redacted || x.Redacted == schema.RedactedSummary && !row.summary ||
				x.Sensitivity != row.sensitivity {
				return fmt.Errorf("%s was shown as %s, want %q", row.mark, x.Redacted, q.redacts(row))
			}
			bare := schema.RecallResult{ID: x.ID, Content: x.Content, Type: row.kind, Category: row.category,
				Score: x.Score, Channels: x.Channels, CreatedAt: x.CreatedAt,
				OccurredAt: x.OccurredAt, Tags: []string{}, Redacted: x.Redacted, Sensitivity: row.sensitivity}
			if q.req.Explain && !q.req.IDsOnly {
				bare.Explain = []schema.ScoreStep{{Stage: "redact", Score: x.Score, Why: leakRedactedWhy[x.Redacted]}}
			}
			if fmt.Sprint(bare) != fmt.Sprint(x) || x.Redacted == schema.RedactedMetadata && x.Content != "" {
				return fmt.Errorf("%s shows more than allowed", row.mark)
			}
			if x.Redacted == schema.RedactedSummary {
				w.summaries.Add(1)
			} else {
				w.stubs.Add(1)
			}
		default:
			may := q.answers(row)
			if row.status == schema.StatusSuperseded && q.req.Superseded {
				may = q.readable(row) && meets(*row, q.req)
				w.superseded.Add(1)
			}
			if !may {
				return fmt.Errorf("%s was shown", row.mark)
			}
			w.full.Add(1)
			if p := x.Passage; p != nil {
				w.passages.Add(1)
				if q.req.IDsOnly || p.Text != row.content[p.Start:p.End] {
					return fmt.Errorf("%s shows a passage that is not in its text", row.mark)
				}
			}
			if len(x.Payload) > 0 {
				w.payloads.Add(1)
				if !q.req.Payload || !strings.Contains(string(x.Payload), row.mark) {
					return fmt.Errorf("%s has a wrong or unrequested payload", row.mark)
				}
			} else if q.req.Payload && !q.req.IDsOnly && q.req.Task == nil && len(out.Meta.Degraded) == 0 {
				return fmt.Errorf("%s lacks its payload", row.mark)
			}
			for name := range x.Channels {
				w.count(name)
			}
			w.tracked[slices.IndexFunc(w.rows, func(r leakRow) bool { return r.id == row.id })].Add(1)
		}
		if returned[x.ID] {
			return fmt.Errorf("%s was shown twice", x.ID)
		}
		returned[x.ID] = true
	}
	// No other part of an answer may contain a word or an id of a hidden memory.
	encoded, err := json.Marshal(out)
	if err != nil {
		return err
	}
	text := strings.ReplaceAll(string(encoded), `"query":`, "")
	for _, mark := range leakMarks.findAll(text) {
		if !w.held(q, mark) {
			return fmt.Errorf("the answer contains %s", mark)
		}
	}
	for _, hash := range anyHash.findAll(text) {
		if !w.held(q, hash) {
			return fmt.Errorf("the answer names an artifact of another principal")
		}
	}
	for _, mark := range summaryMarks.findAll(text) {
		if row := w.holders["mk"+mark[2:]]; len(row) == 0 || q.redacts(row[0]) != schema.RedactedSummary {
			return fmt.Errorf("the answer contains the summary of %s", mark)
		}
	}
	for _, id := range anyID.findAll(text) {
		if row := w.byID[id]; !named[id] && (row == nil || !q.readable(row) && q.redacts(row) == "") || row != nil &&
			!q.readable(row) && q.redacts(row) == "" {
			return fmt.Errorf("the answer names %s", id)
		}
	}
	visible := 0
	for i := range w.rows {
		if q.readable(&w.rows[i]) {
			visible++
		}
	}
	for name, n := range out.Meta.Channels {
		if n > visible {
			return fmt.Errorf("meta counts %d of %s, but %d are visible", n, name, visible)
		}
	}
	return nil
}

func (w *leakWorld) count(what string) {
	n, _ := w.channels.LoadOrStore(what, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

func (w *leakWorld) filter(q leakQuery) pg.Filter {
	f := pg.FilterOf(q.req, policy.Clearance{Limit: q.limit, Scopes: q.scopes}, leakNow,
		timeexpr.Begun(timeexpr.ParseTimes(q.req.Query, leakNow), leakNow))
	// accesses by this case must not affect what another may see
	f.Tags, f.DailyDecay = normalize.NormalizeTags(f.Tags), 1
	return f
}

// same checks the SQL filter against the model: the authorised and the listed memories are exactly those of the model.
func (w *leakWorld) same(q leakQuery) error {
	f := w.filter(q)
	features, err := w.store.Authorize(ctx, f, w.all)
	if err != nil {
		return err
	}
	got := map[uuid.UUID]bool{}
	for id := range features {
		got[id] = true
	}
	listed, err := w.store.List(ctx, f, pg.Page{Limit: 500})
	if err != nil {
		return err
	}
	shown := map[uuid.UUID]bool{}
	for _, m := range listed {
		shown[uuid.MustParse(m.ID)] = true
	}
	want := map[uuid.UUID]bool{}
	f.Superseded = false
	for i := range w.rows {
		if q.answers(&w.rows[i]) {
			want[w.rows[i].id] = true
		} else {
			w.barred.Add(1)
		}
	}
	if !maps.Equal(got, want) || !maps.Equal(shown, want) {
		return fmt.Errorf("%d are authorised and %d listed, want %d", len(got), len(shown), len(want))
	}
	return nil
}

// alike groups cases by the form of their filters, the largest group first: the statements of a group are the same.
// Planning a statement takes Postgres longer than executing it, and a connection keeps the plans of its latest
// statements. The more cases, the larger the groups, and the less time a case takes.
func (w *leakWorld) alike(first, last int) [][]int {
	byForm := map[string][]int{}
	for n := first; n < last; n++ {
		form := w.filter(w.draw(n)).Where("m", pg.Args{})
		byForm[form] = append(byForm[form], n)
	}
	return slices.SortedFunc(maps.Values(byForm), func(a, b []int) int {
		return cmp.Or(len(b)-len(a), a[0]-b[0])
	})
}

// check executes a case with the checks that are due by its number.
func (w *leakWorld) check(q leakQuery, n int) error {
	err := w.run(q)
	if err == nil && n%8 == 0 {
		err = w.same(q)
	}
	if err == nil && n%8 == 2 {
		err = w.byIDs(q, n)
	}
	if err == nil && n%8 == 4 {
		err = w.direct(q)
	}
	if err == nil && *leakTwins > 0 && n%*leakTwins == 0 {
		err = w.unmoved(q)
	}
	return err
}
