package recall_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/memory/layers"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/memory/proposals"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/edit"
)

// keep puts a record for a principal and returns its id.
func (w *world) keep(p schema.Principal, v schema.Visibility, m schema.MemoryRecord) uuid.UUID {
	w.t.Helper()
	m.Confidence, m.Importance, m.Salience, m.SourceTrust = 0.9, 0.5, 1, 1
	if m.Sensitivity == "" {
		m.Sensitivity = schema.SensitivityLow
	}
	in := edit.PutInput{Operation: schema.OperationRef{Tenant: p.Tenant, ID: uuid.NewString(), WorkflowID: "put/wf"},
		Policy: proposals.DefaultWritePolicy(), Now: time.Now(),
		Request: schema.PutRequest{Operation: schema.Operation{Principal: p, Reason: "because"}, Visibility: v,
			Records: []schema.MemoryRecord{m}}}
	require.NoError(w.t, in.Request.Validate())
	out, err := w.Store.Put(ctx, in)
	require.NoError(w.t, err)
	require.Equal(w.t, schema.PutCreated, out.Items[0].Status, "%+v", out.Items[0])
	return uuid.MustParse(out.Items[0].ID)
}

// procedure is a competence that only its trigger matches: its words do not name the problem.
func procedure(n int, signal, conditions string, won, lost int) schema.MemoryRecord {
	return schema.MemoryRecord{Type: schema.TypeCompetence, Content: fmt.Sprintf("Number %d of the handbook.", n),
		Payload: json.RawMessage(fmt.Sprintf(`{"kind":"competence","skill_name":"handbook_%d","triggers":[{"signal":%q,"conditions":%s}],"recipe":[{"step":"wipe it"}],
			"performance":{"success_count":%d,"failure_count":%d}}`, n, signal, conditions, won, lost))}
}

func plan(n int, intent, constraints string) schema.MemoryRecord {
	return schema.MemoryRecord{Type: schema.TypePlanGraph, Content: fmt.Sprintf("Chapter %d.", n),
		Payload: json.RawMessage(fmt.Sprintf(`{"kind":"plan_graph","plan_id":"chapter-%d","version":"1","intent":%q,"constraints":%s,"nodes":[{"id":"a","op":"begin"}],"edges":[],"metrics":{"success_count":8}}`, n, intent, constraints))}
}

func (w *world) answer(req schema.RecallRequest) schema.RecallResponse {
	w.t.Helper()
	if req.Principal == (schema.Principal{}) {
		req.Principal = w.p
	}
	out, err := w.Recall(ctx, req)
	require.NoError(w.t, err)
	return out
}

// wordsAlone lists all channels except full text and signals, to be switched off in tests of text matching.
func wordsAlone() []string {
	return slices.DeleteFunc(recall.Channels(), func(name string) bool {
		return name == rank.ChannelText || name == layers.ChannelSignals
	})
}

func selectionOf(out schema.RecallResponse, layer schema.LayerName) schema.Selection {
	for _, s := range out.Selections {
		if s.Layer == layer {
			return s
		}
	}
	return schema.Selection{}
}

func TestProceduresAreFoundByTheirTriggers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Without = wordsAlone()
	mac := w.keep(w.p, schema.VisibilityPrivate, procedure(1, "ld: cache mismatch", `{"os":"macos"}`, 10, 0))
	linux := w.keep(w.p, schema.VisibilityPrivate, procedure(2, "ld: cache mismatch", `{"os":"linux"}`, 10, 0))
	bad := w.keep(w.p, schema.VisibilityPrivate, procedure(3, "ld: cache mismatch", `{"os":"linux"}`, 2, 10))
	project := w.keep(w.p, schema.VisibilityPrivate, plan(1, "setup_project", `{"platform":"web"}`))
	w.keep(w.p, schema.VisibilityPrivate, procedure(4, "disk full", `{}`, 10, 0))

	const failure = "make[1]: ld: Cache mismatch at 0x7ffe12, in /usr/lib/libfoo.so"
	req := schema.RecallRequest{Query: "what now?",
		Task:    &schema.Task{Intent: "set up my project", ErrorSignature: failure},
		Context: json.RawMessage(`{"os":"linux","platform":"web"}`)}
	out := w.answer(req)
	require.Empty(t, out.Meta.Degraded)
	chosen := selectionOf(out, schema.LayerCompetence)
	require.Equal(t, linux.String(), chosen.Selected, "%+v", chosen)
	require.Len(t, chosen.Candidates, 3)
	require.Equal(t, bad.String(), chosen.Candidates[1].ID)
	require.Equal(t, schema.ApplicabilityContradicted, chosen.Candidates[2].Applicability)
	require.Equal(t, project.String(), selectionOf(out, schema.LayerPlan).Selected)
	require.NotContains(t, ids(out), mac.String(),
		"a procedure is left out if the situation contradicts its conditions, like a conditional fact")
	require.Equal(t, []string{linux.String(), project.String()},
		[]string{layerOf(out, schema.LayerCompetence).IDs[0], layerOf(out, schema.LayerPlan).IDs[0]})
	require.Contains(t, out.Meta.Channels, layers.ChannelSignals)

	// Without a situation all are candidates, and the missing key is named.
	req.Context = nil
	chosen = selectionOf(w.answer(req), schema.LayerCompetence)
	require.Empty(t, chosen.Selected)
	require.Len(t, chosen.Candidates, 3)
	require.Equal(t, "os", chosen.MissingContext[0].Key)
	require.Equal(t, []json.RawMessage{json.RawMessage(`"linux"`), json.RawMessage(`"macos"`)},
		chosen.MissingContext[0].Values)
	req.IDsOnly = true
	response, err := json.Marshal(w.answer(req))
	require.NoError(t, err)
	for _, word := range []string{"linux", `"os"`, "andbook"} {
		require.NotContains(t, string(response), word)
	}

	// Without layers there is one list, which includes text matches.
	out = w.answer(schema.RecallRequest{Query: "what about the handbook"})
	require.Len(t, out.Results, 4)
	require.Empty(t, out.Layers)
	require.Empty(t, out.Selections)
	require.NotContains(t, out.Meta.Channels, layers.ChannelSignals)
}

func layerOf(out schema.RecallResponse, name schema.LayerName) schema.Layer {
	for _, l := range out.Layers {
		if l.Name == name {
			return l
		}
	}
	return schema.Layer{}
}

func TestSelectionShowsNothingToOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := schema.Principal{Tenant: "t", Agent: "b"}
	w.keep(other, schema.VisibilityPrivate, procedure(1, "ld: cache mismatch", `{"secret_os":"plan9"}`, 10, 0))
	w.keep(schema.Principal{Tenant: "t2", Agent: "a"}, schema.VisibilityGlobal,
		procedure(2, "ld: cache mismatch", `{}`, 10, 0))
	hidden := procedure(3, "ld: cache mismatch", `{"secret_os":"plan9"}`, 10, 0)
	hidden.Sensitivity = schema.SensitivityHigh
	w.keep(w.p, schema.VisibilityPrivate, hidden)
	gone := w.keep(w.p, schema.VisibilityPrivate, procedure(4, "ld: cache mismatch", `{"secret_os":"plan9"}`, 10, 0))
	w.exec(`UPDATE memories SET deleted_at = now() WHERE id = $1`, gone)
	req := schema.RecallRequest{Query: "ld: cache mismatch", Task: &schema.Task{ErrorSignature: "ld: cache mismatch"},
		ReadPolicy: schema.ReadShared, Expand: true}
	out := w.answer(req)
	require.Empty(t, out.Results)
	require.Empty(t, out.Selections)
	require.Zero(t, out.Meta.Channels[layers.ChannelSignals])
	response, err := json.Marshal(out)
	require.NoError(t, err)
	require.NotContains(t, string(response), "secret_os")

	shared := w.keep(other, schema.VisibilityGlobal, procedure(5, "ld: cache mismatch", `{}`, 10, 0))
	require.Equal(t, shared.String(), selectionOf(w.answer(req), schema.LayerCompetence).Selected)
}

func TestLayersAndBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Without = wordsAlone()
	for i := range 30 {
		w.put(w.p, schema.VisibilityPrivate,
			schema.Candidate{Content: fmt.Sprintf("Canary canary canary, said again in turn %d of many.", i),
				SourceKind: schema.SourceUserInput})
	}
	working := w.keep(w.p, schema.VisibilityPrivate,
		schema.MemoryRecord{Type: schema.TypeWorking,
			Content: "The aviary with the canary stands half built, and much is left to be done there " +
				"before the winter.",
			Payload: json.RawMessage(`{"kind":"working","thread_id":"t1","state":"executing"}`)})
	fact := w.keep(w.p, schema.VisibilityPrivate,
		schema.MemoryRecord{Type: schema.TypeSemantic,
			Content: "Of all the birds that they keep in the old house by the river one is a canary.",
			Payload: json.RawMessage(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":"house","predicate":"keeps","object":"canary","validity":{"mode":"global"}}`)})

	out := w.answer(schema.RecallRequest{Query: "canary", Layers: true, Limit: 5})
	require.Len(t, out.Results, 5)
	var names []schema.LayerName
	placed := 0
	for _, layer := range out.Layers {
		names = append(names, layer.Name)
		placed += len(layer.IDs)
	}
	require.Equal(t, schema.Layers(), names)
	require.Equal(t, 5, placed)
	require.Equal(t, []string{working.String()}, layerOf(out, schema.LayerWorking).IDs)
	require.Equal(t, []string{fact.String()}, layerOf(out, schema.LayerSemantic).IDs)
	for i := range out.Results[1:] {
		require.LessOrEqual(t, out.Results[i+1].Score, out.Results[i].Score, "results stay one list, best first")
	}
	plain := w.answer(schema.RecallRequest{Query: "canary", Limit: 5})
	require.NotContains(t, ids(plain), working.String(), "without layers, turns fill the page")

	for _, budget := range []int{1, 20, 60, 100, 300, 5000} {
		out = w.answer(schema.RecallRequest{Query: "canary", Task: &schema.Task{BudgetTokens: budget}, Limit: 50,
			Expand: true})
		used, inLayers := 0, 0
		for _, r := range out.Results {
			tokens, _ := layers.ResultTokens(r)
			used += tokens
			require.Equal(t, r.Truncated, strings.HasSuffix(r.Content, normalize.CutMark))
		}
		for _, layer := range out.Layers {
			inLayers += layer.Tokens
		}
		require.LessOrEqual(t, used, budget)
		require.Equal(t, used, inLayers)
		if budget >= 300 {
			require.Contains(t, ids(out), working.String())
			require.Contains(t, ids(out), fact.String())
		}
	}
	// One memory larger than the budget is cut and marked as such.
	long := w.remember("The zebra " + strings.Repeat("runs on and on ", 300))
	out = w.answer(schema.RecallRequest{Query: "zebra", Task: &schema.Task{BudgetTokens: 100}})
	require.Equal(t, []string{long.String()}, ids(out))
	require.True(t, out.Results[0].Truncated)
	require.LessOrEqual(t, layers.EstimateTokens(out.Results[0].Content), 100)
}

func TestLongResultShowsTheRelevantPassage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	filler := strings.Repeat("The zebra runs on and on over the plain. ", 60)
	text := filler + "\n\nThe zebra is called Matilda by the keepers.\n\n" + filler
	long := w.remember(text)

	out := w.answer(schema.RecallRequest{Query: "what do the keepers call the zebra"})
	require.Equal(t, []string{long.String()}, ids(out))
	p := out.Results[0].Passage
	require.NotNil(t, p)
	require.Contains(t, p.Text, "Matilda")
	require.Equal(t, p.Text, out.Results[0].Content[p.Start:p.End])
	require.False(t, out.Results[0].Truncated)

	out = w.answer(schema.RecallRequest{Query: "what do the keepers call the zebra",
		Task: &schema.Task{BudgetTokens: 300}})
	require.True(t, out.Results[0].Truncated)
	require.Contains(t, out.Results[0].Content, "Matilda", "the budget keeps the passage, not the beginning")
	require.LessOrEqual(t, layers.EstimateTokens(out.Results[0].Content), 300)
}

func TestSelectionFailingOnlyDegrades(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.keep(w.p, schema.VisibilityPrivate, procedure(1, "ld: cache mismatch", `{}`, 10, 0))
	w.Index = failing(errors.New("down"))
	w.exec(`REVOKE SELECT ON memory_signals FROM mneme_app`)
	out := w.answer(schema.RecallRequest{Query: "handbook", Task: &schema.Task{ErrorSignature: "ld: cache mismatch"}})
	require.ElementsMatch(t, []string{rank.ChannelVector, layers.ChannelSignals}, out.Meta.Degraded)
	require.Equal(t, []string{id.String()}, ids(out))
	require.Equal(t, id.String(), selectionOf(out, schema.LayerCompetence).Selected, "found by text")
	off := w.answer(schema.RecallRequest{Query: "handbook", Task: &schema.Task{},
		Without: []string{layers.StageSelection, rank.ChannelVector, layers.ChannelSignals}})
	require.Empty(t, off.Selections)
	require.Empty(t, off.Meta.Degraded)
}

func TestTaskIsValidated(t *testing.T) {
	t.Parallel()
	for field, task := range map[string]schema.Task{
		"task.intent":          {Intent: strings.Repeat("x", schema.MaxIntentLength+1)},
		"task.error_signature": {ErrorSignature: strings.Repeat("x", schema.MaxSignatureLength+1)},
		"task.budget_tokens":   {BudgetTokens: -1},
	} {
		req := schema.RecallRequest{Principal: schema.Principal{Tenant: "t", Agent: "a"}, Query: "x", Task: &task}
		var invalid *schema.ValidationError
		require.ErrorAs(t, req.Validate(), &invalid)
		require.Equal(t, field, invalid.Fields[0].Field)
		require.NotContains(t, invalid.Error(), "xx")
	}
}

func TestSignalsOfAnyTextAreSearched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.keep(w.p, schema.VisibilityPrivate, procedure(1, "a' | b & !c:* <-> \\ \"quoted\"", `{}`, 1, 0))
	for _, text := range []string{"a' | b & !c:* <-> \\", "!!!", "'", "\\", "(((", "🙂", "磁盘", "שלום",
		strings.Repeat("word ", 800), strings.Repeat("x", 4000)} {
		out := w.answer(schema.RecallRequest{Query: "?",
			Task: &schema.Task{ErrorSignature: text, Intent: first(text, 250)}})
		require.NotContains(t, out.Meta.Degraded, layers.ChannelSignals)
		require.NotContains(t, out.Meta.Degraded, layers.StageSelection)
	}
}

func first(s string, n int) string { return s[:min(len(s), n)] }

// A query that names a time is answered with the facts that were true then, whenever they were stated.
func TestFactsAtTheTimeInTheQuery(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	day := func(month time.Month) *time.Time { d := time.Date(2025, month, 1, 0, 0, 0, 0, time.UTC); return &d }
	fact := func(content string, from, until *time.Time) uuid.UUID {
		return w.keep(w.p, schema.VisibilityPrivate, schema.MemoryRecord{Type: schema.TypeSemantic, Content: content,
			Payload: json.RawMessage(fmt.Sprintf(`{"kind":"semantic","evidence":[{"kind":"event","ref":"evt://told"}],"subject":"office","predicate":"is_in","object":%q,"validity":{"mode":"timeboxed","start":%q,"end":%q},"revision_policy":"fork"}`,
				content, from.Format(time.RFC3339), until.Format(time.RFC3339)))})
	}
	summer := fact("the office is in Lisbon", day(time.June), day(time.September))
	autumn := fact("the office is in Porto", day(time.September), day(time.December))
	req := schema.RecallRequest{Principal: w.p, Query: "where was the office in July 2025"}
	require.Equal(t, []string{summer.String()}, ids(w.answer(req)))
	req.Query = "where was the office between August 2025 and October 2025"
	require.ElementsMatch(t, []string{summer.String(), autumn.String()}, ids(w.answer(req)))
	req.Query = "where is the office"
	require.Empty(t, w.answer(req).Results)
	req.Query, req.ValidAt = "where was the office in July 2025", day(time.October)
	require.Equal(t, []string{autumn.String()}, ids(w.answer(req)), "only what was true then")
}

// An answer that is empty because of its budget does not say that nothing is known.
func TestABudgetWithoutRoomIsNotIgnorance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.remember("the kestrel nests in the tower")
	out := w.answer(schema.RecallRequest{Query: "kestrel", Task: &schema.Task{BudgetTokens: 3}})
	require.Empty(t, out.Results)
	require.False(t, out.Meta.Unknown)
	require.NotContains(t, out.Meta.TimingsMS, "rescue")
	out = w.answer(schema.RecallRequest{Query: "walrus", Task: &schema.Task{BudgetTokens: 3}})
	require.True(t, out.Meta.Unknown)
}

// An answer of ids tells as much about what is known as one with texts.
func TestIDsOnlySaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.remember("Ana lives in Oslo")
	w.exec(`UPDATE memories SET occurred_at = now() - interval '1 day' WHERE id = $1`, first)
	w.remember("Ana has moved to Bergen and lives there now")
	for _, query := range []string{"Where does Ana live?", "Who built the pyramids?"} {
		full := w.answer(schema.RecallRequest{Query: query})
		short := w.answer(schema.RecallRequest{Query: query, IDsOnly: true})
		require.Equal(t, ids(full), ids(short))
		require.Equal(t, full.Meta.Unknown, short.Meta.Unknown, query)
		require.Equal(t, full.Meta.Relevance, short.Meta.Relevance)
		require.Equal(t, full.Meta.Floor, short.Meta.Floor)
		for i, row := range full.Results {
			require.Equal(t, row.Newer, short.Results[i].Newer)
			require.Equal(t, row.HeldUntil, short.Results[i].HeldUntil)
			require.Equal(t, row.Relevance, short.Results[i].Relevance)
		}
		if len(full.Results) > 0 {
			require.NotEmpty(t, full.Results[len(full.Results)-1].Newer)
		}
	}
}

// Relevance is computed for English. An answer in another language has no floor.
func TestTheFloorIsForQuestionsInEnglish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	said := map[string]string{
		"¿Dónde vivo?":                  "Vivo en Sevilla, cerca del río",
		"Was ist meine Lieblingsfarbe?": "Meine Lieblingsfarbe ist Dunkelgrün",
		"Quel âge a ma fille ?":         "Ma fille a sept ans depuis mardi",
		"¿En qué trabaja mi hermana?":   "Lucía, mi hermana mayor, es enfermera",
		"Wie heißt mein Hund?":          "Mein Hund Bello ist acht Jahre alt",
		"¿Cómo se llama mi gato?":       "Tengo un gato negro, Trueno",
		"Où habite Chloé ?":             "Chloé vit à Lille",
		"Wann habe ich Geburtstag?":     "Mein Geburtstag ist der 3. Mai",
		"Wo wohnt Anna?":                "Anna zog letzten Monat nach Bremen",
		"Waar werk ik?":                 "Ik werk sinds maart bij een bakkerij in Gent",
		"Hvilken bil har jeg?":          "Jeg har en gammel bil, en blå Volvo",
	}
	for query, text := range said {
		said[query] = w.remember(text).String()
	}
	for query, id := range said {
		out := w.answer(schema.RecallRequest{Query: query})
		require.False(t, out.Meta.Unknown, query)
		require.Contains(t, ids(out), id, query)
		require.Zero(t, out.Meta.Floor)
	}
	require.True(t, w.answer(schema.RecallRequest{Query: "Who built the pyramids?"}).Meta.Unknown)
}

// A version is found with and without its v.
func TestAVersionIsFoundInBothForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	billing := w.remember("The billing service runs v4.17.2 since Monday")
	search := w.remember("We pinned the search service to 9.3.1")
	require.Equal(t, []string{billing.String()}, ids(w.answer(schema.RecallRequest{Query: "4.17.2"})))
	require.Equal(t, billing.String(), ids(w.answer(schema.RecallRequest{Query: "Which service runs 4.17.2?"}))[0])
	require.Equal(t, []string{search.String()}, ids(w.answer(schema.RecallRequest{Query: "v9.3.1"})))
}
