package schema_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/schema/check"
)

func TestDecodeInput(t *testing.T) {
	t.Parallel()
	type inner struct {
		Name  string     `json:"name"`
		At    *time.Time `json:"at,omitempty"`
		Score *float64   `json:"score,omitempty"`
	}
	type base struct {
		Tenant string `json:"tenant"`
	}
	type input struct {
		base
		N     int               `json:"n"`
		On    bool              `json:"on"`
		Items []inner           `json:"items"`
		One   *inner            `json:"one"`
		Any   json.RawMessage   `json:"any"`
		Words map[string]string `json:"words"`
		State *inner            `json:"state" decode:"state"`
		Out   string            `json:"-"`
	}
	for text, want := range map[string][]string{
		`{}`: nil,
		`{"tenant":"t","n":1,"on":true,"items":[{"name":"a","at":"2026-01-02T03:04:05Z","score":1}],"one":null,"any":{"x":[1]},"words":{"a":"b"}}`: nil,
		`{"TENANT":"t"}`:                       nil, // as encoding/json reads it
		`{"state":{"name":1,"unknown":2}}`:     {"state.name: must be of another type"},
		`{"state":{"unknown":2}}`:              nil,
		`{"items":[{"name":"a"},{"nam":"b"}]}`: {"items[1].nam: unknown field"},
		`{"one":{"at":"noon","score":"high"}}`: {"one.at: must be a time in RFC 3339",
			"one.score: must be a number"},
		`{"n":1.5}`: {"n: must be a whole number"},
		`{"n":"1","on":1,"tenant":[]}`: {"n: must be a whole number", "on: must be true or false",
			"tenant: must be a string"},
		`{"items":{},"one":[],"words":["a"]}`: {"items: must be a list", "one: must be an object",
			"words: must be an object"},
		`{"n":1,"N":2}`: {"N: is given twice"},
		`{"Out":"x","out":"y","two words":1}`: {"Out: unknown field", "out: is given twice",
			"(other): unknown field"},
		`null`:             {"(json): must be an object"},
		`"x"`:              {"(json): must be an object"},
		`[{"tenant":"t"}]`: {"(json): must be an object"},
		`{"items":["secret"],"one":{"name":null}}`: {"items[0]: must be an object"},
	} {
		var in input
		d := check.DecodeInput([]byte(text), &in)
		var got []string
		if err := d.Err(); err != nil {
			var invalid *schema.ValidationError
			require.ErrorAs(t, err, &invalid)
			for _, f := range invalid.Fields {
				got = append(got, f.Error())
			}
		}
		require.Equal(t, want, got, text)
	}
}

// Fields that earlier versions ignored can be ignored. Fields that they could not read remain errors.
func TestDropUnread(t *testing.T) {
	t.Parallel()
	var req schema.IngestRequest
	require.NoError(t,
		json.Unmarshal([]byte(`{"principal":{"tenant":"t","agent":"a"},"candidates":[{"content":"x","colour":"red"}]}`),
			&req))
	require.EqualError(t, req.Validate(), "invalid request: candidates[0].colour: unknown field")
	require.True(t, req.DropUnread())
	require.NoError(t, req.Validate())
	require.Equal(t, "x", req.Candidates[0].Content)
	require.False(t, req.DropUnread())

	require.NoError(t,
		json.Unmarshal([]byte(`{"principal":{"tenant":"t","agent":"a"},"candidates":[{"content":7,"colour":"red"}]}`),
			&req))
	require.True(t, req.DropUnread())
	require.EqualError(t, req.Validate(), "invalid request: candidates[0].content: must be a string")
}

// Decoding knows every field of the Go request types.
func TestRequestsRoundTrip(t *testing.T) {
	t.Parallel()
	at, half, yes := time.Now().UTC().Truncate(time.Second), 0.5, true
	ingest := schema.IngestRequest{Principal: schema.Principal{Tenant: "t", Agent: "a", Project: "p", Scope: "s",
		PolicyGroup: "g"}, Visibility: schema.VisibilityGroup,
		Candidates: []schema.Candidate{{Content: "x", SourceKind: schema.SourceMemory, Speaker: "s", Session: "s",
			OccurredAt: &at, Refs: []schema.Ref{{Kind: "event", Ref: "r", Hash: "h", Timestamp: &at}},
			Category: "fact", Tags: []string{"t"}, Sensitivity: "low", Importance: &half, IdempotencyKey: "k"}},
		IdempotencyKey: "k", Mode: schema.ModeShadow, NoUpdateDelete: true, MinFactConfidence: &half}
	encoded, err := json.Marshal(ingest)
	require.NoError(t, err)
	var read schema.IngestRequest
	require.NoError(t, json.Unmarshal(encoded, &read))
	require.NoError(t, read.Validate())
	require.Equal(t, ingest, read)

	recall := schema.RecallRequest{Principal: ingest.Principal, ReadPolicy: schema.ReadGroup, Query: "q", Limit: 3,
		Types: []schema.MemoryType{schema.TypeEpisodic}, Categories: []schema.Category{"fact"},
		Tags: []string{"t"}, Who: "w", Pinned: &yes, ImportanceMin: 0.5, Since: &at, MaxSensitivity: "low",
		Context: json.RawMessage(`{"a":1}`), ValidAt: &at, Superseded: true,
		Task: &schema.Task{Intent: "i", BudgetTokens: 5}, Layers: true, Expand: true, KeywordQuery: "k",
		Traversal: schema.TraversalFlat, Without: []string{"text"}, With: []string{"dampen"},
		Explain: true, Trust: &schema.TrustContext{Authenticated: true, Scopes: []string{"s"}}, IDsOnly: true,
		Payload: true}
	encoded, err = json.Marshal(recall)
	require.NoError(t, err)
	var asked schema.RecallRequest
	require.NoError(t, json.Unmarshal(encoded, &asked))
	require.NoError(t, asked.Validate())
	require.Equal(t, recall, asked)
}

// A field that is given twice, in any spelling that decoding accepts, is refused at every depth: one of the values would
// be lost. So is text that decoding would replace.
func TestNothingInALineIsLost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"content":"one","content":"two"}`: "candidate: invalid request: content: is given twice",
		`{"content":"one","Content":"two"}`: "candidate: invalid request: Content: is given twice",
		`{"content":"x","refs":[{"ref":"a","ref":"b","kind":"event"}]}`: "candidate: invalid request: " +
			"refs[0].ref: is given twice",
		`{"content":"x","refs":[{"ref":"a","REF":"b","kind":"event"}]}`: "candidate: invalid request: " +
			"refs[0].REF: is given twice",
		`{"content":"half \ud83d of it"}`: "candidate: invalid request: content: contains half of a surrogate pair",
		"{\"content\":\"\xff\"}":          "candidate: invalid request: content: is not valid UTF-8",
	} {
		_, err := schema.DecodeCandidate([]byte(text))
		require.EqualError(t, err, want, text)
	}
	for text, want := range map[string]string{
		`{"id":"a","content":"one","content":"two"}`: "patch: invalid request: content: is given twice",
		`{"id":"a","content":"one","CONTENT":"two"}`: "patch: invalid request: CONTENT: is given twice",
		`{"id":"a","content":"\udc00"}`:              "patch: invalid request: content: contains half of a surrogate pair",
	} {
		_, err := schema.DecodePatch([]byte(text))
		require.EqualError(t, err, want, text)
	}
}

// The same holds for requests that change memories.
func TestNothingInARequestIsLost(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		req interface{ Validate() error }
		bad string
	}{
		`{"mode":"soft","Mode":"erase"}`:        {&schema.ForgetRequest{}, "Mode: is given twice"},
		`{"selector":{"all":false,"All":true}}`: {&schema.ForgetRequest{}, "selector.All: is given twice"},
		`{"patches":[{"id":"a","pinned":true,"Pinned":false}]}`: {&schema.ModifyRequest{},
			"patches[0].Pinned: is given twice"},
		`{"targets":[{"id":"a","if_version":1,"if_version":2}]}`: {&schema.ReviseRequest{},
			"targets[0].if_version: is given twice"},
		`{"principal":{"tenant":"a","tenant":"b"}}`: {&schema.PutRequest{}, "principal.tenant: is given twice"},
	} {
		require.NoError(t, json.Unmarshal([]byte(text), c.req))
		require.EqualError(t, c.req.Validate(), "invalid request: "+c.bad, text)
	}
}
