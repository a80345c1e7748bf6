package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mneme/mneme/schema"
)

// beamConversation is one line of the evaluation data.
type beamConversation struct {
	ID    string `json:"conversation"`
	Turns []struct {
		ID               int
		Role, When, Text string
		Batch            int
	}
	QA []struct {
		Kind, Question string
		Evidence       []int
	} `json:"qa"`
}

// For a question about an update, the newest evidence must be among the first beamFirst results.
const (
	beamFirst   = 5
	beamUpdate  = "knowledge_update"
	beamRequest = 40 // turns of a request, at most
	noon        = 12 * time.Hour
)

// beamResult judges the answer to one question about an update. Ranks count from 1; 0 means not among the results.
type beamResult struct {
	conversation, question string
	newest, older          int
	olderMarked            bool
	results                []schema.RecallResult
}

// beam measures questions about updates: the newest evidence must be among the first results, and above the older.
func (b *bench) beam(ctx context.Context) error {
	file, err := os.Open(b.beamData)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Printf("\n(no evaluation data at %s: left out)\n", b.beamData)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	s, drop, err := b.newSite(ctx)
	if err != nil {
		return err
	}
	defer drop()
	var conversations []beamConversation
	turns := 0
	for lines.Scan() && (!b.changing.quick || len(conversations) < 2) {
		var c beamConversation
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return fmt.Errorf("%s: %w", b.beamData, err)
		}
		conversations, turns = append(conversations, c), turns+len(c.Turns)
	}
	if err := lines.Err(); err != nil {
		return err
	}
	results := make([][]beamResult, len(conversations))
	_, took, err := measure(2, len(conversations), func(i int) error {
		of, err := b.askBeam(ctx, s, conversations[i])
		results[i] = of // each call writes its own element
		return err
	})
	if err != nil {
		return err
	}
	b.reportBeam(slices.Concat(results...), fmt.Sprintf("Questions about updates, BEAM, %d conversations, %d turns, %s",
		len(conversations), turns, took.Round(time.Second)))
	return nil
}

func (b *bench) reportBeam(results []beamResult, title string) {
	first, above, both, marked, gone := 0, 0, 0, 0, 0
	for _, r := range results {
		isFirst := r.newest > 0 && r.newest <= beamFirst
		isAbove := r.newest > 0 && (r.older == 0 || r.newest < r.older)
		if isFirst {
			first++
		}
		if isAbove {
			above++
		}
		if isFirst && isAbove {
			both++
		} else if b.changing.showFailures {
			fmt.Printf("\n%s: %s\n  newest at %d, older at %d\n", r.conversation, r.question, r.newest, r.older)
			for _, hit := range r.results[:min(shownResults, len(r.results))] {
				fmt.Printf("     %.3f %.200s\n", hit.Score, strings.Join(strings.Fields(described(hit)), " "))
			}
		}
		if r.older == 0 {
			gone++
		} else if r.olderMarked {
			marked++
		}
	}
	n := len(results)
	table(title, []string{"questions", fmt.Sprintf("newest in the first %d", beamFirst), "newest above older", "both",
		"older marked", "older gone"},
		[][]string{{fmt.Sprint(n), percent(first, n), percent(above, n), percent(both, n),
			fmt.Sprint(marked), fmt.Sprint(gone)}})
}

// candidates returns the turns of a conversation, one minute apart.
func (c beamConversation) candidates() []schema.Candidate {
	at := time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC) // if no turn has a date
	out := make([]schema.Candidate, len(c.Turns))
	for i, turn := range c.Turns {
		if day, err := time.Parse("January-02-2006", turn.When); err == nil && (i == 0 || day.Add(noon).After(at)) {
			at = day.Add(noon)
		}
		at = at.Add(time.Minute)
		kind, said := schema.SourceUserInput, at
		if turn.Role != "user" {
			kind = schema.SourceObservation
		}
		out[i] = schema.Candidate{Content: turn.Text, Speaker: turn.Role, SourceKind: kind, OccurredAt: &said,
			Session: fmt.Sprint("session ", turn.Batch)}
	}
	return out
}

// askBeam ingests a conversation, session by session, and asks its questions about updates.
func (b *bench) askBeam(ctx context.Context, s site, c beamConversation) ([]beamResult, error) {
	who := schema.Principal{Tenant: c.ID, Agent: "bench-agent"}
	p := b.newPipeline(s.Store)
	m := &told{from: map[string]map[int]bool{}, touched: map[int]bool{}}
	m.tenant.Name = c.ID
	var ids []string
	turns := c.candidates()
	for start := 0; start < len(turns); {
		req := schema.IngestRequest{Principal: who}
		end, size := start, 0
		for ; end < len(turns) && end-start < beamRequest && turns[end].Session == turns[start].Session; end++ {
			if size += len(turns[end].Content); size > schema.MaxRequestBytes {
				break
			}
		}
		req.Candidates = turns[start:end]
		ack, err := p.ingest(ctx, req, *turns[end-1].OccurredAt)
		if err != nil {
			return nil, fmt.Errorf("conversation %s: %w", c.ID, err)
		}
		ids = append(ids, ack.MemoryIDs...)
		start = end
	}
	if err := m.trace(ctx, b, s, ids); err != nil {
		return nil, err
	}
	position := map[int]int{}
	for i, turn := range c.Turns {
		position[turn.ID] = i
	}
	recaller := b.recaller(s.Store, turns[len(turns)-1].OccurredAt.Add(heldAt))
	var out []beamResult
	for _, q := range c.QA {
		if q.Kind != beamUpdate || len(q.Evidence) < 2 {
			continue
		}
		resp, err := recaller.Recall(ctx, schema.RecallRequest{Principal: who, Query: q.Question})
		if err != nil {
			return nil, err
		}
		evidence := slices.Sorted(slices.Values(q.Evidence)) // the higher id is the update
		r := beamResult{conversation: c.ID, question: q.Question, results: resp.Results}
		newest := position[evidence[len(evidence)-1]]
		for rank, hit := range resp.Results {
			if m.is(hit, newest) {
				if r.newest == 0 {
					r.newest = rank + 1
				}
				continue
			}
			for _, id := range evidence[:len(evidence)-1] {
				if m.is(hit, position[id]) && r.older == 0 {
					r.older, r.olderMarked = rank+1, outdated(hit) != "" || contested(hit)
				}
			}
		}
		out = append(out, r)
	}
	return out, nil
}
