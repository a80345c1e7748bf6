// Command firstagent shows how an agent uses Mneme. It stores the turns of a conversation, asks what is known
// before it answers the next turn, and reports what helped. It reaches Mneme only through Temporal.
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

// principal says on whose behalf a request is made: a user or, if user is empty, the agent itself.
func (d desk) principal(user string) schema.Principal {
	return schema.Principal{Tenant: d.tenant, Agent: d.agent, User: user}
}

// remember stores the turns of a conversation and returns when they are durable. The function that it returns waits
// until their facts are extracted. An agent in a conversation need not call it.
func (d desk) remember(ctx context.Context, user, key string, turns ...schema.Candidate) (func() error, error) {
	started, err := mneme.StartIngest(ctx, d.temporal, d.taskQueue, schema.IngestRequest{
		Principal:      d.principal(user),
		Candidates:     turns,
		IdempotencyKey: key, // turns delivered twice are stored once
	})
	if err != nil {
		return nil, fmt.Errorf("remember: %w", err)
	}
	return func() error { return started.Run.Get(ctx, nil) }, nil
}

// recall returns the memories that help to answer a question.
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

// helped reports which of the recalled memories were used for a good answer. The others were not used.
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

// prompt returns the text for the model's context: one line per memory, with its date and any reason to doubt it.
// The block is marked, so that it is skipped when a transcript that contains it is ingested.
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

// converse holds a conversation in the evening, and asks a question the next morning.
func converse(ctx context.Context, d desk, out io.Writer) error {
	evening := time.Date(2026, time.November, 2, 18, 30, 0, 0, time.UTC)
	turn := func(kind schema.SourceKind, speaker, text string, after time.Duration,
		refs ...schema.Ref) schema.Candidate {
		at := evening.Add(after)
		return schema.Candidate{Content: text, SourceKind: kind, Speaker: speaker, Session: "maya-2026-11-02",
			OccurredAt: &at, Refs: refs}
	}
	// Memories without a user are there for all users of the agent.
	house, err := d.remember(ctx, "", "house-rules/1", schema.Candidate{
		Content: "Trips above 500 euros need an approval.", SourceKind: schema.SourceMemory, OccurredAt: &evening})
	if err != nil {
		return err
	}
	// Memories of a conversation belong to its user.
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
	// Tom is another user of the same agent. He does not see what Maya said, but he sees the house rule.
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
