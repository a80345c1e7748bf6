package recall

import (
	"context"
	"maps"

	"github.com/google/uuid"

	"github.com/mneme/mneme/memory/parsed"
	"github.com/mneme/mneme/memory/rank"
)

// reader reads the texts of authorised evidence for the shaping stages. It reads each text once in a recall.
type reader struct {
	*query
	texts map[uuid.UUID]string
	said  map[uuid.UUID]rank.Quote
}

// contents returns the texts of evidence, read through the filter. Evidence that no longer passes the filter has no
// text.
func (r *reader) contents(ctx context.Context, evidence []rank.Evidence) (map[uuid.UUID]string, error) {
	if r.texts == nil {
		r.texts = map[uuid.UUID]string{}
	}
	var missing []uuid.UUID
	for _, e := range evidence {
		if _, read := r.texts[e.ID]; !read {
			missing = append(missing, e.ID)
		}
	}
	if len(missing) == 0 {
		return r.texts, nil
	}
	ctx, cancel := r.within(ctx, readDeadline)
	defer cancel()
	found, err := r.Store.Contents(ctx, r.readable(), missing)
	if err != nil {
		return nil, err
	}
	for _, id := range missing {
		r.texts[id] = found[id]
	}
	return r.texts, nil
}

// keep stores texts that another stage has read through the filter.
func (r *reader) keep(texts map[uuid.UUID]string) {
	if r.texts == nil {
		r.texts = texts
		return
	}
	maps.Copy(r.texts, texts)
}

// quotes returns the texts of the best candidates, parsed, with their speakers and times.
func (r *reader) quotes(ctx context.Context, evidence []rank.Evidence) (map[uuid.UUID]rank.Quote, error) {
	best := evidence[:min(len(evidence), rank.MaxLatest)]
	contents, err := r.contents(ctx, best)
	if err != nil {
		return nil, err
	}
	if r.said == nil {
		r.said = make(map[uuid.UUID]rank.Quote, len(best))
	}
	for _, e := range best {
		if text := contents[e.ID]; r.said[e.ID].Bytes == 0 && text != "" {
			read := parsed.Text(firstBytes(text, rank.MaxRelevanceBytes), e.Speaker)
			r.said[e.ID] = rank.Quote{Text: read, Bytes: len(text)}
		}
	}
	return r.said, nil
}
