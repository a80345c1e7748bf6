package vector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vectorindex"
)

// Ensure returns the active generation of an index. If there is none, at the first start of an installation, it
// creates one for the given model.
func Ensure(ctx context.Context, st *store.Store, index Index, model inference.EmbeddingModel,
	now time.Time) (Generation, error) {
	known, err := st.Generations(ctx, index.Name())
	if err != nil {
		return Generation{}, err
	}
	if len(known) > 0 && known[0].State == vectorindex.GenerationActive {
		return known[0], nil
	}
	g, err := st.StartGeneration(ctx, index.Name(), model, vectorindex.GenerationActive, now)
	if err != nil {
		return Generation{}, err
	}
	return g, index.Create(ctx, g)
}

// ErrNoEmbedder means that this program has no embedder for an embedding model.
var ErrNoEmbedder = errors.New("no embedder is configured for the index's embedding model: run `mneme reindex`")

// Embedders has the embedder of every embedding model that this program supports. A query needs that of the
// searched generation, which may differ from the configured one until a new model has all memories. Only Configured
// is required: then it is the only embedder. It is safe for concurrent use and must not be copied.
type Embedders struct {
	Configured inference.Embedder
	// Other makes the embedder of another model, or returns ErrNoEmbedder. It may be nil.
	Other func(inference.EmbeddingModel) (inference.Embedder, error)

	// Store and Index name the generation that is searched; without a store, the configured model is used.
	Store *store.Store
	Index string
	Now   func() time.Time // the clock; time.Now when nil

	mu     sync.Mutex
	model  inference.EmbeddingModel
	read   time.Time
	others map[inference.EmbeddingModel]inference.Embedder
}

// generationTTL is how long a process uses the generation that it has read. A replaced generation is dropped after
// DropGrace, so that no search uses a removed generation.
const generationTTL = 2 * time.Second

// DropGrace is how long a generation is kept after it is no longer searched. By then every process has read the
// active generation again and running calls have ended.
const DropGrace = 10 * time.Second

// MaxDropGrace is the longest time that a rebuild may keep the previous generation.
const MaxDropGrace = time.Hour

// For returns the embedder of a model, or ErrNoEmbedder. A model without dimensions is matched by name. The configured
// embedder serves its model's spaces with and without speakers.
func (e *Embedders) For(model inference.EmbeddingModel) (inference.Embedder, error) {
	if e.Configured != nil {
		own, asked := e.Configured.Model(), model
		asked.Dimensions = cmp.Or(asked.Dimensions, own.Dimensions)
		if own.WithoutSpeakers() == asked.WithoutSpeakers() {
			return inference.InSpace(e.Configured, asked), nil
		}
	}
	if e.Other == nil {
		return nil, ErrNoEmbedder
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if known := e.others[model]; known != nil {
		return known, nil
	}
	made, err := e.Other(model)
	if err != nil {
		return nil, err
	}
	if got := made.Model(); got.Name != model.Name || model.Dimensions != 0 && got.Dimensions != model.Dimensions {
		return nil, ErrNoEmbedder
	}
	if e.others == nil {
		e.others = map[inference.EmbeddingModel]inference.Embedder{}
	}
	e.others[model] = made
	return made, nil
}

// Current returns the embedder for queries: that of the searched generation. ErrNoEmbedder means that this program
// cannot embed for it; then the caller must omit the vector channel and report this. For an index without a
// generation it returns the configured embedder, and searches find nothing.
func (e *Embedders) Current(ctx context.Context) (inference.Embedder, error) {
	if e.Store == nil {
		return e.Configured, nil
	}
	model, err := e.current(ctx)
	if err != nil {
		return nil, err
	}
	return e.For(model)
}

func (e *Embedders) current(ctx context.Context) (inference.EmbeddingModel, error) {
	now := time.Now
	if e.Now != nil {
		now = e.Now
	}
	e.mu.Lock()
	model, fresh := e.model, now().Sub(e.read) < generationTTL && !e.read.IsZero()
	e.mu.Unlock()
	if fresh {
		return model, nil
	}
	known, err := e.Store.Generations(ctx, e.Index)
	if err != nil {
		return model, fmt.Errorf("which model is searched: %w", err)
	}
	model = e.Configured.Model()
	if len(known) > 0 && known[0].State == vectorindex.GenerationActive {
		model = known[0].Model
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.model, e.read = model, now()
	return model, nil
}

// Model implements inference.Embedder. It returns the model of the searched generation, if known. A caller that
// embeds and then searches uses Current instead, so that both use the same model.
func (e *Embedders) Model() inference.EmbeddingModel {
	if e.Store == nil {
		return e.Configured.Model()
	}
	ctx, cancel := context.WithTimeout(context.Background(), generationTTL)
	defer cancel()
	model, err := e.current(ctx)
	if err != nil && model == (inference.EmbeddingModel{}) {
		return e.Configured.Model()
	}
	return model
}

// Embed implements inference.Embedder, for the model that Model named last.
func (e *Embedders) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	embedder, err := e.last()
	if err != nil {
		return nil, inference.Usage{}, err
	}
	return embedder.Embed(ctx, texts)
}

// EmbedQuery implements inference.QueryEmbedder, for the model that Model named last.
func (e *Embedders) EmbedQuery(ctx context.Context, text string) ([]float32, inference.Usage, error) {
	embedder, err := e.last()
	if err != nil {
		return nil, inference.Usage{}, err
	}
	return inference.EmbedQuery(ctx, embedder, text)
}

// last returns the embedder of the model that Model named last.
func (e *Embedders) last() (inference.Embedder, error) {
	e.mu.Lock()
	model := e.model
	e.mu.Unlock()
	if model == (inference.EmbeddingModel{}) {
		model = e.Model()
	}
	return e.For(model)
}
