// Command firstagent shows how an agent uses Mneme: it hands in the turns of a conversation, asks what is known
// before it answers the next one, and says what helped. It speaks to Mneme through Temporal alone.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/mneme/mneme/api"
	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/schema"
)

// desk is one agent of one tenant. It serves many users.
type desk struct {
	temporal  client.Client
	taskQueue string
	tenant    string
	agent     string
}

// principal is on whose behalf a request is made: for a user or, without one, for the agent itself.
func (d desk) principal(user string) schema.Principal {
	return schema.Principal{Tenant: d.tenant, Agent: d.agent, User: user}
}

// remember hands in the turns of a conversation. It returns when they are durable, with a function that waits until
// the facts in them are known. An agent that goes on talking does not need it.
func (d desk) remember(ctx context.Context, user, key string, turns ...schema.Candidate) (func() error, error) {
	started, err := mneme.StartIngest(ctx, d.temporal, d.taskQueue, schema.IngestRequest{
		Principal:      d.principal(user),
		Candidates:     turns,
		IdempotencyKey: key, // delivered twice, the turns are handed in once
	})
	if err != nil {
		return nil, fmt.Errorf("remember: %w", err)
	}
	return func() error { return started.Run.Get(ctx, nil) }, nil
}

// recall asks what is known that helps with a question.
func (d desk) recall(ctx context.Context, user, question string) (schema.RecallResponse, error) {
	run, err := mneme.StartRecall(ctx, d.temporal, d.taskQueue, schema.RecallRequest{
		Principal: d.principal(user),
		Query:     question,
		Limit:     5,
	})
	if err != nil {
		return schema.RecallResponse{}, fmt.Errorf("recall: %w", err)
	}
	return mneme.Outcome[schema.RecallResponse](ctx, run)
}

// helped says which of the memories that were recalled went into a good answer. The others were not used.
func (d desk) helped(ctx context.Context, user string, answer schema.RecallResponse, used ...string) error {
	req := schema.FeedbackRequest{
		Operation:       schema.Operation{Principal: d.principal(user)},
		RetrievalID:     answer.RetrievalID,
		AllOthersUnused: true,
	}
	for _, id := range used {
		req.Items = append(req.Items, schema.FeedbackItem{MemoryID: id, Verdict: schema.VerdictSucceeded})
	}
	run, err := mneme.StartFeedback(ctx, d.temporal, d.taskQueue, req)
	if err != nil {
		return fmt.Errorf("feedback: %w", err)
	}
	return run.Get(ctx, nil)
}

// prompt is what goes into the model's context: one line a memory, with its date and with what speaks against it.
// The block is marked, so that a transcript that holds it can be handed in and is not learned again.
func prompt(answer schema.RecallResponse) string {
	lines := []string{"What you know (say that you do not know where this does not help):"}
	for _, m := range answer.Results {
		line := "- " + m.OccurredAt.Format(time.DateOnly)
		if m.Type == schema.TypeEpisodic && m.Who != "" {
			line += ", " + m.Who // who says "I"
		}
		line += ": " + strings.Join(strings.Fields(m.Content), " ")
		switch {
		case m.Status == schema.StatusContested:
			line += " (contested: something else was said as well)"
		case m.Currentness == schema.CurrentnessSuperseded:
			line += " (out of date)"
		case m.Currentness == schema.CurrentnessMixed:
			line += " (partly out of date)"
		case m.Currentness == schema.CurrentnessOlder:
			line += " (something else was said later)"
		}
		if end := m.Validity.End; end != nil {
			line += " (until " + end.Format(time.DateOnly) + ")"
		}
		lines = append(lines, line)
	}
	if len(answer.Results) == 0 {
		lines = append(lines, "- nothing about this")
	}
	return intake.WrapRecalled(answer.RetrievalID, strings.Join(lines, "\n"))
}

// converse is a conversation of one evening, and the question of the next morning.
func converse(ctx context.Context, d desk, out io.Writer) error {
	evening := time.Date(2026, time.November, 2, 18, 30, 0, 0, time.UTC)
	turn := func(kind schema.SourceKind, speaker, text string, after time.Duration, refs ...schema.Ref) schema.Candidate {
		at := evening.Add(after)
		return schema.Candidate{Content: text, SourceKind: kind, Speaker: speaker, Session: "maya-2026-11-02",
			OccurredAt: &at, Refs: refs}
	}
	// What the agent itself keeps is there for all of its users.
	house, err := d.remember(ctx, "", "house-rules/1", schema.Candidate{
		Content: "Trips above 500 euros need an approval.", SourceKind: schema.SourceMemory, OccurredAt: &evening})
	if err != nil {
		return err
	}
	// What is said in a conversation belongs to the user with whom it is held.
	talk, err := d.remember(ctx, "maya", "maya-2026-11-02/1",
		turn(schema.SourceUserInput, "Maya", "I live in Lyon. I prefer window seats on trains.", 0),
		turn(schema.SourceToolOutput, "", "search_trains: Lyon to Milan, departs 07:32, 98 EUR", time.Minute,
			schema.Ref{Kind: "tool_call", Ref: "call-17"}),
		turn(schema.SourceObservation, "Assistant", "I booked the 07:32 train to Milan for November 9.", 2*time.Minute),
	)
	if err != nil {
		return err
	}
	for _, wait := range []func() error{house, talk} {
		if err := wait(); err != nil {
			return err
		}
	}

	answer, err := d.recall(ctx, "maya", "Which seat does Maya want on the train?")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "Maya asks for a seat. The model reads:\n%s\n\n", prompt(answer))
	if len(answer.Results) > 0 {
		if err := d.helped(ctx, "maya", answer, answer.Results[0].ID); err != nil {
			return err
		}
	}
	// Tom is another user of the same agent. What Maya said is not for him; the rule of the house is.
	if answer, err = d.recall(ctx, "tom", "Which seat does Maya want, and which trips need an approval?"); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "Tom asks about it. The model reads:\n%s\n", prompt(answer))
	return nil
}

func main() {
	temporal, err := client.Dial(envconfig.MustLoadDefaultClientOptions()) // TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, …
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	d := desk{temporal: temporal, taskQueue: cmp.Or(os.Getenv("MNEME_TASK_QUEUE"), api.TaskQueue),
		tenant: cmp.Or(os.Getenv("MNEME_TENANT"), "acme"), agent: "travel-desk"}
	err = converse(ctx, d, os.Stdout)
	cancel()
	temporal.Close()
	if err != nil {
		log.Fatal(err)
	}
}
