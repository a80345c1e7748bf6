package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/mneme/mneme/api"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/memory/normalize"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/workflows"
)

// keptStatement is a statement, and the question about it months later.
type keptStatement struct {
	who      string
	kind     schema.SourceKind
	text     string
	question string
	want     string // expected in the answer
}

// keptStatements are of all kinds: decisions, appointments, rules, preferences, procedures; about named people, "we",
// "our team", "the API" and third persons; asked in the words of the fact and in other words.
var keptStatements = []keptStatement{
	{"Maya", schema.SourceUserInput, "We decided to use Kafka for the event bus.",
		"What did we decide to use for the event bus?", "Kafka"},
	{"Maya", schema.SourceUserInput, "It was agreed that invoices are sent on the first of each month.",
		"When are invoices sent?", "first of each month"},
	{"Maya", schema.SourceUserInput, "Our standup is at 9:30 every weekday.", "When is our standup?", "9:30"},
	{"Maya", schema.SourceUserInput, "The launch is planned for May 3.", "When is the launch planned?", "May 3"},
	{"Maya", schema.SourceUserInput, "The deadline for the tax report is March 28.",
		"What is the deadline for the tax report?", "March 28"},
	{"Maya", schema.SourceUserInput, "The quarterly review is on April 17.", "When is the quarterly review?",
		"April 17"},
	{"Maya", schema.SourceUserInput, "There's a freeze from December 20 to January 4.", "When is the freeze?",
		"December 20"},
	{"Maya", schema.SourceUserInput, "Releases go out on Tuesdays.", "On which day do releases go out?", "Tuesdays"},
	{"Sam", schema.SourceUserInput, "Never commit credentials to the repository.",
		"Where must credentials not be committed?", "repository"},
	{"Sam", schema.SourceUserInput, "Credentials must be rotated every 90 days.",
		"How often must credentials be rotated?", "90 days"},
	{"Sam", schema.SourceUserInput, "Database passwords are stored in Vault.", "Where are database passwords stored?",
		"Vault"},
	{"Maya", schema.SourceUserInput, "Please always answer in English.", "In which language to answer?", "English"},
	{"Maya", schema.SourceUserInput, "No meetings on Fridays.", "Are there meetings on Fridays?", "No meetings"},
	{"Maya", schema.SourceUserInput, "I prefer Python.", "Which language does Maya prefer?", "Python"},
	{"Maya", schema.SourceUserInput, "I like dark mode in every editor.", "What does Maya like in every editor?",
		"dark mode"},
	{"Dana", schema.SourceUserInput, "I'm allergic to peanuts.", "What is Dana allergic to?", "peanuts"},
	{"Dana", schema.SourceUserInput, "I don't drink coffee after noon.", "When does Dana not drink coffee?",
		"after noon"},
	{"Maya", schema.SourceUserInput, "We prefer tabs over spaces.", "Do we prefer tabs or spaces?", "tabs"},
	{"Maya", schema.SourceUserInput, "Our team uses Linear for tickets.", "What does our team use for tickets?",
		"Linear"},
	{"Maya", schema.SourceUserInput, "Our team meets on Thursdays in room Aquila.", "In which room does our team meet?",
		"Aquila"},
	{"Sam", schema.SourceUserInput, "The API returns dates in UTC.", "In which zone does the API return dates?", "UTC"},
	{"Sam", schema.SourceUserInput, "The API rate limit is 100 requests per minute.", "What is the API rate limit?",
		"100 requests"},
	{"Sam", schema.SourceUserInput, "The staging server runs on port 8443.",
		"On which port does the staging server run?", "8443"},
	{"Sam", schema.SourceUserInput, "There are three production clusters.", "How many production clusters are there?",
		"three"},
	{"Maya", schema.SourceUserInput, "Ana lives in Lisbon.", "Where does Ana live?", "Lisbon"},
	{"Maya", schema.SourceUserInput, "Ana works at Corvex as a data engineer.", "Where does Ana work?", "Corvex"},
	{"Maya", schema.SourceUserInput, "Bob is the owner of the ledger service.",
		"Who is the owner of the ledger service?", "Bob"},
	{"Maya", schema.SourceUserInput, "My sister Lena lives in Graz.", "Where does Maya's sister Lena live?", "Graz"},
	{"Maya", schema.SourceUserInput, "My dog is called Biscuit.", "What is Maya's dog called?", "Biscuit"},
	{"Maya", schema.SourceUserInput, "My birthday is on July 9.", "When is Maya's birthday?", "July 9"},
	{"Maya", schema.SourceUserInput, "Jonas manages the payments team. He reports to Priya.",
		"To whom does Jonas report?", "Priya"},
	{"Maya", schema.SourceUserInput, "The customer Halvorsen wants weekly reports.",
		"What does the customer Halvorsen want?", "weekly reports"},
	{"Maya", schema.SourceUserInput, "Halvorsen's contact is Ingrid Moe.", "Who is Halvorsen's contact?", "Ingrid Moe"},
	{"Maya", schema.SourceUserInput, "Bob told me that the audit starts in October.", "When does the audit start?",
		"October"},
	{"Sam", schema.SourceUserInput, "To deploy, run make release and then tag the commit.", "How do I deploy?",
		"make release"},
	{"Sam", schema.SourceUserInput, "Run the migrations before you start the worker.",
		"What to run before you start the worker?", "migrations"},
	{"Sam", schema.SourceUserInput, "If the build fails with a linker error, clear the module cache.",
		"What to do about a linker error?", "module cache"},
	{"", schema.SourceObservation, "The backup volume is mounted read-only on node 12.",
		"How is the backup volume mounted?", "read-only"},
	{"", schema.SourceToolOutput, "error: disk quota exceeded on node-7", "On which node was the disk quota exceeded?",
		"node-7"},
	{"", schema.SourceOutcome, "The notebook of the data science project was rewritten in Python.",
		"In what was the notebook of the data science project rewritten?", "Python"},
	{"", schema.SourceMemory, "The gate code is 4471.", "What is the gate code?", "4471"},
}

// Four months of a tenant: questions about the first days are asked after every source has decayed and been deleted.
func TestStatementsAreKnownAfterMonths(t *testing.T) {
	t.Parallel()
	k := &kept{year: newYear(t, 1)}
	const perDay = 14
	for i, said := range slices.Collect(slices.Chunk(keptStatements, perDay)) {
		k.at(k.within(float64(i), float64(i)+0.5), func(ctx workflow.Context) {
			k.say(ctx, fmt.Sprintf("s%d", i), said...)
		})
	}
	for day := 0.6; day < 121; day += 2 {
		k.at(k.within(day, day+0.2), k.decaySweep)
		k.at(k.within(day+0.2, day+0.3), k.purge)
	}
	k.at(k.start.Add(4*yearDay), func(ctx workflow.Context) { k.checkAnswers(ctx, "in the first days") })
	for day := 10.0; day < 110; day += 20 { // a few are used in the meantime
		k.at(k.within(day, day+1), func(ctx workflow.Context) { k.ranks(ctx, keptStatements[int(day)/10]) })
	}
	k.at(k.start.Add(120*yearDay), func(ctx workflow.Context) {
		k.checkAnswers(ctx, "after 120 days")
		k.count(ctx, "no source is left", 0, `type = 'episodic'`)
		k.sayAgain(ctx)
	})
	k.env.ExecuteWorkflow(k.run)
	require.True(t, k.env.IsWorkflowCompleted())
	require.NoError(t, k.env.GetWorkflowError())
	require.Empty(t, strings.Join(k.wrong, "\n"))
	require.Equal(t, 2*len(keptStatements), k.did["asked"], "each question was asked twice")
	testkit.CheckInvariants(t, k.db)
}

// kept is a tenant with a running pipeline and a clock that can be moved.
type kept struct{ *year }

func (k *kept) say(ctx workflow.Context, session string, said ...keptStatement) api.IngestResult {
	req := schema.IngestRequest{Principal: k.p}
	for _, s := range said {
		req.Candidates = append(req.Candidates,
			schema.Candidate{Content: s.text, SourceKind: s.kind, Speaker: s.who, Session: session})
	}
	var out api.IngestResult
	k.must(k.child(ctx, workflows.Ingest, req).Get(ctx, &out))
	if out.Dead > 0 || len(out.Deduped) > 0 || len(out.Deferred) > 0 {
		k.complain("%s: an ingest was to bring something new: %+v", session, out)
	}
	return out
}

// ranks returns the ranks of the answers that contain the expected text, and fails on a record that does not last.
func (k *kept) ranks(ctx workflow.Context, s keptStatement) []int {
	var out schema.RecallResponse
	k.must(k.child(ctx, workflows.Recall,
		schema.RecallRequest{Principal: k.p, Query: s.question, Limit: 5}).Get(ctx, &out))
	var places []int
	texts := map[string]bool{}
	for i, r := range out.Results {
		if r.Supplementary {
			continue
		}
		text := normalize.Normalize(r.Content).Normalized
		if texts[text] {
			k.complain("%q is answered twice by %q", s.question, r.Content)
		}
		texts[text] = true
		if strings.Contains(r.Content, s.want) {
			places = append(places, i)
			if r.Type == schema.TypeSemantic && (r.Ref == "" && s.kind != schema.SourceMemory || r.Who != s.who ||
				r.OccurredAt.Sub(k.start).Abs() > 4*yearDay) {
				k.complain("%q does not say where it comes from: ref %q, who %q, occurred at %s", r.Content, r.Ref,
					r.Who, r.OccurredAt)
			}
		}
	}
	return places
}

func (k *kept) checkAnswers(ctx workflow.Context, when string) {
	for _, s := range keptStatements {
		places := k.ranks(ctx, s)
		if len(places) == 0 || places[0] > 1 {
			k.complain("%s: %q: the answers that say %q are at %v", when, s.question, s.want, places)
		}
		k.did["asked"]++
	}
}

func (k *kept) count(ctx workflow.Context, what string, want int, condition string) int {
	n := 0
	k.step(ctx, func(ctx context.Context) error {
		return k.db.QueryRow(ctx, `SELECT count(*) FROM memories WHERE `+condition).Scan(&n)
	})
	if want >= 0 && n != want {
		k.complain("%s: %d, want %d", what, n, want)
	}
	return n
}

// sayAgain repeats some statements after their sources are gone: they are recognized, and reinforced.
func (k *kept) sayAgain(ctx workflow.Context) {
	again := []keptStatement{keptStatements[0], keptStatements[3], keptStatements[13]}
	nearly := keptStatements[13]
	nearly.text = "I really prefer Python."
	records := k.count(ctx, "", -1, `type = 'semantic' AND live`)
	reinforced := k.now()
	k.must(workflow.Sleep(ctx, time.Minute))
	out := k.say(ctx, "again", append(again, nearly)...)
	if out.Written.Added > 0 || out.Written.Skipped != 4 {
		k.complain("what is known was written again: %+v", out.Written)
	}
	k.count(ctx, "lasting records", records, `type = 'semantic' AND live`)
	for _, s := range again {
		if places := k.ranks(ctx, s); len(places) != 1 {
			k.complain("%q is answered at %v", s.question, places)
		}
	}
	var list []schema.MemoryRecord
	k.step(ctx, func(ctx context.Context) (err error) {
		list, err = k.store.List(ctx, pg.Filter{Principal: k.p, Types: []schema.MemoryType{schema.TypeSemantic}},
			pg.Page{Limit: 100})
		return err
	})
	tied := 0
	for _, m := range list {
		if m.Lifecycle.LastReinforcedAt.After(reinforced) {
			tied++
		}
	}
	if tied != 3 {
		k.complain("%d records were reinforced, want 3", tied)
	}
}
