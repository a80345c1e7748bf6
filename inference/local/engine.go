//go:build !nolocal

package local

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"

	gomlx "github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego" // the backend in pure Go
	mlcontext "github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/knights-analytics/hugot/backends"
	"github.com/knights-analytics/hugot/options"
)

// Shapes for which the graph is compiled. A batch is padded to the next size in both dimensions, and each pair of sizes
// is compiled once. The steps are small, because this backend computes every padded token.
var (
	batchShapes    = []int{1, 2, 4, 8}
	sequenceShapes = []int{8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 512}
)

// engine runs the graph. Its methods may be called concurrently, except destroy, which must be called after all others
// have returned.
type engine struct {
	mu      sync.Mutex // hugot writes to the model when it prepares a batch
	base    *backends.BasePipeline
	output  int
	pooling string
}

// newEngine loads the graph. The first batch of each shape compiles it.
func newEngine(d description) (_ *engine, err error) {
	defer recovered(&err, "cannot be loaded")
	settings := options.Defaults()
	settings.Backend = "GO"
	settings.GoMLXOptions.BatchBuckets = batchShapes
	settings.GoMLXOptions.SequenceBuckets = append([]int(nil), sequenceShapes...)
	model := &backends.Model{
		ID:                    d.name,
		Path:                  filepath.Dir(d.onnx),
		OnnxFilename:          filepath.Base(d.onnx),
		OnnxBytes:             d.onnxBytes,
		MaxPositionEmbeddings: d.maxTokens,
	}
	if err := backends.CreateModelBackend(model, settings); err != nil {
		return nil, fmt.Errorf("embedding model: %s: %w", d.onnx, err)
	}
	if err := sequential(model); err != nil {
		return nil, fmt.Errorf("embedding model: %s: %w", d.onnx, err)
	}
	e := &engine{
		base:    &backends.BasePipeline{Runtime: settings.Backend, Model: model, PipelineName: d.name},
		pooling: d.pooling,
	}
	for _, in := range model.InputsMeta {
		switch in.Name {
		case "input_ids", "attention_mask", "token_type_ids":
		default:
			return nil, fmt.Errorf(
				"embedding model: %s wants an input %q; only input_ids, attention_mask and token_type_ids are known",
				d.onnx,
				in.Name,
			)
		}
	}
	if e.output, err = e.choose(); err != nil {
		return nil, fmt.Errorf("embedding model: %s: %w", d.onnx, err)
	}
	if len(model.OutputsMeta[e.output].Dimensions) == 2 {
		e.pooling = poolNone
	} else if d.dense {
		return nil, errors.New("embedding model: modules.json names a Dense layer, which an " +
			"ONNX graph of token vectors does not hold; export one with the output sentence_embedding")
	}
	return e, nil
}

// sequential replaces hugot's executor by one that runs the graph's operations one after the other. The default
// executor runs independent operations concurrently, and reads and writes shared state without a lock (gomlx 0.26,
// seen by the race detector); hugot has no setting for it. A matrix product still uses every core.
func sequential(model *backends.Model) error {
	m := model.GoMLXModel
	backend, err := gomlx.NewWithConfig("go:ops_sequential")
	if err != nil {
		return err
	}
	exec, err := mlcontext.NewExec(backend, m.Ctx, m.Call)
	if err != nil {
		return err
	}
	exec.SetMaxCache(m.MaxCache)
	m.Exec.Finalize()
	m.Exec = exec
	model.Destroy = func() error {
		exec.Finalize()
		m.Ctx.Finalize()
		m.Backend.Finalize()
		backend.Finalize()
		return nil
	}
	return nil
}

// choose returns the output to read: a sentence vector if there is one, otherwise the tokens of the last layer.
func (e *engine) choose() (int, error) {
	outputs := e.base.Model.OutputsMeta
	fits := func(o backends.InputOutputInfo) bool {
		n := len(o.Dimensions)
		return (n == 2 || n == 3) && o.Dimensions[n-1] > 0
	}
	for _, name := range []string{"sentence_embedding", "last_hidden_state", "token_embeddings"} {
		for i, o := range outputs {
			if o.Name == name && fits(o) {
				return i, nil
			}
		}
	}
	if len(outputs) == 1 && fits(outputs[0]) {
		return 0, nil
	}
	return 0, errors.New("has no output sentence_embedding, last_hidden_state or token_embeddings")
}

// run returns a unit vector for each of at most 8 token lists.
func (e *engine) run(lists [][]int32) (vectors [][]float32, err error) {
	defer recovered(&err, "failed")
	batch := backends.NewBatch(len(lists))
	for _, ids := range lists {
		in := backends.TokenizedInput{
			TokenIDs:          make([]uint32, len(ids)),
			TypeIDs:           make([]uint32, len(ids)),
			AttentionMask:     make([]uint32, len(ids)),
			MaxAttentionIndex: len(ids) - 1,
		}
		for i, id := range ids {
			in.TokenIDs[i], in.AttentionMask[i] = uint32(id), 1
		}
		batch.Input = append(batch.Input, in)
		batch.MaxSequenceLength = max(batch.MaxSequenceLength, len(ids))
	}
	if err := e.layOut(batch); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, batch.Destroy()) }()
	if err := backends.RunSessionOnBatch(batch, e.base); err != nil {
		return nil, err
	}
	vectors = make([][]float32, len(lists))
	for i := range vectors {
		switch out := batch.OutputValues[e.output].(type) {
		case [][]float32:
			vectors[i] = out[i]
		case [][][]float32:
			vectors[i] = out[i][0]
			if e.pooling == poolMean {
				vectors[i] = sum(out[i]) // the mean, without the factor
			}
		default:
			return nil, fmt.Errorf("its output is of type %T", out)
		}
		if !normalise(vectors[i]) {
			return nil, errors.New("a vector is zero or not finite")
		}
	}
	return vectors, nil
}

func (e *engine) layOut(batch *backends.PipelineBatch) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return backends.CreateInputTensors(batch, e.base.Model, e.base.Runtime)
}

func (e *engine) destroy() error { return e.base.Model.Destroy() }

// recovered turns a panic of the numeric library, which reports errors by panics, into an error without its text.
func recovered(err *error, what string) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("embedding model: %s: the graph is damaged or uses an operation that is not supported", what)
		if cause, ok := r.(error); ok {
			*err = fmt.Errorf("%w: %w", *err, cause)
		}
	}
}

func sum(rows [][]float32) []float32 {
	out := make([]float32, len(rows[0]))
	for _, row := range rows {
		for i, x := range row {
			out[i] += x
		}
	}
	return out
}

// normalise scales v to length one. It returns false for a vector without a direction.
func normalise(v []float32) bool {
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square == 0 || math.IsNaN(square) || math.IsInf(square, 0) {
		return false
	}
	length := math.Sqrt(square)
	for i, x := range v {
		v[i] = float32(float64(x) / length)
	}
	return true
}
