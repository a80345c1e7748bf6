package cli

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"

	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/internal/cli/exchange"
	"github.com/mneme/mneme/internal/cli/memories"
	"github.com/mneme/mneme/internal/testkit"
	"github.com/mneme/mneme/internal/testkit/harness"
	"github.com/mneme/mneme/schema"
)

// holding lists the rows of a tenant, in all tables, that contain a word in any column, bytes included.
func holding(t *testing.T, url, tenant, word string) (found []string) {
	t.Helper()
	db := testkit.Owner(t, url)
	ctx := context.Background()
	for _, table := range testkit.Strings(t, db, `
		SELECT c.table_name::text
		FROM information_schema.columns c
			JOIN information_schema.tables b USING (table_schema, table_name)
		WHERE c.table_schema = current_schema() AND b.table_type = 'BASE TABLE' AND c.column_name = 'tenant'
		ORDER BY 1`) {
		rows, err := db.Query(ctx, fmt.Sprintf(`
			SELECT left(x::text, 200)
			FROM %q x
			WHERE tenant = $1 AND (x::text ILIKE '%%' || $2 || '%%' OR x::text LIKE '%%' || $3 || '%%')`, table),
			tenant, word, hex.EncodeToString([]byte(word)))
		require.NoError(t, err)
		for rows.Next() {
			var row string
			require.NoError(t, rows.Scan(&row))
			found = append(found, table+": "+row)
		}
		require.NoError(t, rows.Err())
	}
	slices.Sort(found)
	return found
}

// carrying lists the runs of a tenant whose histories contain a word.
func carrying(t *testing.T, c client.Client, tenant, word string) (found []string) {
	t.Helper()
	ctx := context.Background()
	listed, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1_000,
		Query: fmt.Sprintf("MnemeTenant = '%s'", tenant)})
	require.NoError(t, err)
	for _, e := range listed.GetExecutions() {
		run := e.GetExecution()
		history := c.GetWorkflowHistory(ctx, run.GetWorkflowId(), run.GetRunId(), false, 0)
		for history.HasNext() {
			event, err := history.Next()
			if err != nil {
				break // deleted since it was listed
			}
			encoded, err := proto.Marshal(event)
			require.NoError(t, err)
			if bytes.Contains(encoded, []byte(word)) {
				found = append(found, run.GetWorkflowId()+" "+event.GetEventType().String())
				break
			}
		}
	}
	return found
}

// After the sequence of docs/users.md, no row of the tenant contains a text of the person, and the texts of another
// user and of the agent are unchanged. Each text has a word of its person that occurs nowhere else. No run of the tenant
// in Temporal contains a text of the person, either.
func TestAPersonIsRemovedEntirely(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	const mark = "quonzal"
	other := func(agent string) []string { return []string{"--agent", agent} }
	live := func(user, word string) {
		as := func(args ...string) outcome { return c.run(append(args, "--user", user)...) }
		// Statements with claims. One changes later, and another waits for review.
		for _, text := range []string{"I live in Lyon near %s square.", "I work at %s.", "My sister is called %s."} {
			as("remember", fmt.Sprintf(text, word), "--wait", "--source-kind", "user_input", "--speaker", "Ana "+word,
				"--session", "s-"+user).is(app.ExitOK)
		}
		as("remember", "I moved to Oslo, to "+word+" street.", "--wait", "--source-kind", "user_input", "--speaker",
			"Ana "+word).is(app.ExitOK)
		as("remember", "I no longer work at "+word+". I work at Acme.", "--wait", "--no-update-delete", "--source-kind",
			"user_input", "--speaker", "Ana "+word).is(app.ExitOK)
		as("import", fileOf(t, fmt.Sprintf(`{"content":"A file of %s"}`, strings.Repeat(word+" and more. ", 20_000))),
			"--wait").is(app.ExitOK)
		var kept exchange.Remembered
		as("remember", "The "+word+" key is under the mat.", "--wait", "--json", "--tag", word).is(app.ExitOK).json(&kept)
		id := kept.MemoryIDs[0]
		as("modify", id, "--content", "The "+word+" key is in the shed.", "--reason", "moved "+word).is(app.ExitOK)
		as("remember", "The "+word+" cellar is damp.", "--wait", "--json").is(app.ExitOK).json(&kept)
		as("forget", kept.MemoryIDs[0], "--execute", "--reason", "damp").is(app.ExitOK)
		c.run(append([]string{"remember", "Another agent knows " + word + ".", "--wait", "--user", user},
			other("second")...)...).is(app.ExitOK)
		as("remember", "In the garden grows "+word+".", "--wait", "--project", "garden", "--visibility",
			"shared").is(app.ExitOK)
		// what a user asks
		answer := as("recall", "where is the "+word+" key", "--json").is(app.ExitOK)
		var recalled schema.RecallResponse
		answer.json(&recalled)
		as("feedback", recalled.RetrievalID, "--outcome", "success", "--reason", "found "+word).is(app.ExitOK)
		as("advise", "open the "+word+" door", "--error", "the "+word+" door is stuck", "--context",
			"door="+word).is(app.ExitOK)
		as("topics", "add", "What is known about "+word+"?").is(app.ExitOK)
		as(append([]string{"topics", "add", "What else about " + word + "?"}, other("second")...)...).is(app.ExitOK)
		c.run("topics", "refresh", "--all").is(app.ExitOK)
		// files, sessions, beliefs
		as("artifact", "put", fileOf(t, "the picture of "+word)).is(app.ExitOK)
		event := func(id, kind, text string) string {
			return fmt.Sprintf(`{"id":"%s-%s","kind":%q,"payload":{"text":%q}}`+"\n", user, id, kind, text)
		}
		events := event("1", "user.injected", "I like "+word) + event("2", "agent.spoke", "So you like "+word)
		as("session", "append", "open-"+user, fileOf(t, events)).is(app.ExitOK)
		events = strings.ReplaceAll(events, user+"-", user+"-c")
		as("session", "append", "closed-"+user, fileOf(t, events)).is(app.ExitOK)
		as("session", "close", "closed-"+user, "--outcome", "success", "--summary", "about "+word).is(app.ExitOK)
		as("reflect", "run/closed-"+user, "--threshold", "1").is(app.ExitOK)
		as("context", "run/closed-"+user, "--recall", "what about "+word).is(app.ExitOK)
	}
	live("maya", mark)
	live("tom", "brimvok")
	c.remember("House rules mention glenfarn.")
	tenant := c.cfg.Principal.Tenant
	before := holding(t, h.DatabaseURL, tenant, "brimvok")
	house := holding(t, h.DatabaseURL, tenant, "glenfarn")
	require.NotEmpty(t, holding(t, h.DatabaseURL, tenant, mark))
	require.NotEmpty(t, house)
	require.NotEmpty(t, carrying(t, h.Temporal, tenant, mark))
	shown := c.run("users", "show", "maya").is(app.ExitOK).out
	for _, command := range []string{"events erase --all --user maya", "topics remove --all --user maya",
		"forget --all --mode erase --agent second --user maya", "artifact remove --all --user maya"} {
		require.Contains(t, shown, "mneme "+command)
	}

	const reason = "asked for by the person"
	c.run("events", "erase", "--all", "--user", "maya", "--yes", "--reason", reason).is(app.ExitOK)
	c.run("topics", "remove", "--all", "--user", "maya", "--reason", reason).is(app.ExitOK)
	for _, agent := range []string{c.cfg.Principal.Agent, "second"} {
		c.run("forget", "--all", "--mode", "erase", "--user", "maya", "--agent", agent, "--yes", "--reason",
			reason).is(app.ExitOK)
	}
	c.run("artifact", "remove", "--all", "--user", "maya", "--reason", reason).is(app.ExitOK)

	require.Empty(t, holding(t, h.DatabaseURL, tenant, mark))
	require.NoError(t, testkit.Eventually(context.Background(), func() error {
		if found := carrying(t, h.Temporal, tenant, mark); len(found) > 0 {
			return fmt.Errorf("still carried: %v", found)
		}
		return nil
	}))
	require.Contains(t, c.run("users", "show", "maya").is(app.ExitOK).out, "nothing is stored of user maya")
	var removals []schema.Removal
	c.run("users", "removals", "maya", "--json").is(app.ExitOK).json(&removals)
	require.Len(t, removals, 2)
	for i, want := range []schema.Removal{{Kind: schema.RemovedArtifacts, Removed: 1}, {Kind: schema.RemovedTopics,
		Removed: 2}} {
		got := removals[i]
		require.WithinDuration(t, time.Now(), got.RemovedAt, time.Hour)
		require.Equal(t, schema.Removal{ID: got.ID, Kind: want.Kind, Scope: "user/maya", Removed: want.Removed,
			RemovedBy: app.Operator(), Reason: reason, RemovedAt: got.RemovedAt}, got)
	}
	require.Contains(t, c.run("users", "removals").is(app.ExitOK).out, reason)
	require.NotContains(t, c.run("users", "removals", "tom").is(app.ExitOK).out, reason)
	require.Equal(t, before, holding(t, h.DatabaseURL, tenant, "brimvok"))
	require.Equal(t, house, holding(t, h.DatabaseURL, tenant, "glenfarn"))
	require.NotContains(t, c.run("users", "show", "tom").is(app.ExitOK).out, "nothing")
}

// If counting what is left of a user fails after its memories are erased, the receipt is still printed, and the error
// says where to look.
func TestAReceiptIsPrintedWhenTheCountOfWhatIsLeftFails(t *testing.T) {
	t.Parallel()
	h := harness.New(t, nil)
	c := newCLI(t, h)
	erase := func(args ...string) outcome {
		c.run("remember", "Maya likes tea.", "--wait", "--user", "maya").is(app.ExitOK)
		return c.run(append([]string{"forget", "--all", "--mode", "erase", "--user", "maya", "--yes", "--reason",
			"asked for"}, args...)...).is(app.ExitOK)
	}
	done := erase()
	require.Contains(t, done.out, "nothing is stored of user maya")
	require.NotContains(t, done.err, "users show")

	_, err := testkit.Owner(t, h.DatabaseURL).Exec(t.Context(), `REVOKE SELECT ON topics FROM mneme_app`)
	require.NoError(t, err)
	failed := erase()
	require.Contains(t, failed.err, "permission denied")
	require.Contains(t, failed.err, "; see mneme users show maya")
	require.Contains(t, failed.out, "1 of 1 (erase)")
	require.NotContains(t, failed.out, "is stored of user", "it is not known")
	var printed memories.Forgotten
	erase("--json").json(&printed)
	require.Equal(t, 1, printed.Receipt.Forgotten)
	require.Nil(t, printed.Left)
}
