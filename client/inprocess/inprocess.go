package inprocess

import (
	"time"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/recall"
	"github.com/mneme/mneme/recall/advising"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
)

// Options are the sources of a recaller. Only Store is required.
type Options struct {
	Store     *store.Store
	Index     vector.Index // the vector index; nil means pgvector in Store
	Embedder  inference.Embedder
	Reranking inference.Reranking // the zero value disables reranking
	// Others returns the embedder of another model than Embedder's, if the searched index uses one. It may be nil.
	Others func(inference.EmbeddingModel) (inference.Embedder, error)
	Now    func() time.Time // nil means time.Now
}

// New returns a recaller. A query is embedded with the model of the index generation that is searched. Without an
// embedder, memories are found only by text, claims and graph. The fields of the recaller hold further settings.
func New(o Options) *recall.Recaller {
	embedder := o.Embedder
	if o.Store != nil && o.Index != nil && embedder != nil {
		embedder = &vector.Embedders{Configured: embedder, Other: o.Others, Store: o.Store, Index: o.Index.Name(),
			Now: o.Now}
	}
	return &recall.Recaller{Store: o.Store, Index: o.Index, Embedder: embedder, Reranking: o.Reranking, Now: o.Now}
}

// NewAdviser returns an adviser, which gives advice and counts reports without Temporal.
func NewAdviser(o Options) *advising.Adviser {
	return &advising.Adviser{Store: o.Store, Recaller: New(o), Now: o.Now}
}
