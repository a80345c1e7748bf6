package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/vector"
)

// askedAt is the clock of recalls whose answers are compared.
var askedAt = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// writeAnswers appends the answers to all questions to a file, one on each line, without fields that differ from run to
// run. Two versions of the program that give the same answers over one site (-site) write the same file.
func (b *bench) writeAnswers(ctx context.Context, s site, c corpus) error {
	out, err := os.OpenFile(b.answers, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	recaller := &recall.Recaller{Store: s.Store, Index: vector.PGVector{Store: s.Store}, Embedder: b.brain.Embedder,
		Untracked: true, Settings: recall.Settings{TimeoutFactor: 30}, Now: func() time.Time { return askedAt }}
	encode := json.NewEncoder(out)
	for i, asked := range c.questions {
		request := schema.RecallRequest{Principal: principal, Query: asked, Explain: true}
		if i%2 == 1 { // as a principal that reads what others share
			request.ReadPolicy = schema.ReadShared
		}
		response, err := recaller.Recall(ctx, request)
		if err != nil {
			return fmt.Errorf("question %d: %w", i, err)
		}
		response.RetrievalID, response.Meta.TimingsMS = "", nil
		if err := encode.Encode(map[string]any{"query": asked, "answer": response}); err != nil {
			return err
		}
	}
	return out.Close()
}

// startProfile begins a processor profile, if wanted. The function that it returns ends the profile.
func (b *bench) startProfile(wanted bool, name string) (func(), error) {
	if b.profile == "" || !wanted {
		return func() {}, nil
	}
	out, err := os.Create(b.profile + "-" + name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = out.Close()
	}, nil
}
