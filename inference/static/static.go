package static

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/tokenizer"
)

// maxTokens is the number of tokens that are read from a text. The rest of the text is ignored.
const maxTokens = 32_768

// Config names the table.
type Config struct {
	Dir  string // has model.safetensors and tokenizer.json
	Name string // of the model, used in the name of the embedding space; if empty, the name of the directory
}

// Embedder embeds by a table of token vectors. It is safe for concurrent use.
type Embedder struct {
	tokens tokenizer.Tokenizer
	table  *table
	empty  []float32 // the vector of a text without a known token
	model  inference.EmbeddingModel
}

var _ inference.Embedder = (*Embedder)(nil)

// New reads the table and its tokenizer. Errors name the file and its problem.
func New(c Config) (*Embedder, error) {
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("embedding table: there is no directory %s", c.Dir)
	}
	words, err := read(filepath.Join(c.Dir, "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(c.Dir, "model.safetensors")
	weights, err := read(file)
	if err != nil {
		return nil, err
	}
	e := &Embedder{}
	if e.tokens, err = tokenizer.Read(words); err != nil {
		return nil, fmt.Errorf("embedding table: %s/tokenizer.json %w", c.Dir, err)
	}
	if e.table, err = readTable(weights, e.tokens.Size()); err != nil {
		return nil, fmt.Errorf("embedding table: %s %w", file, err)
	}
	sum := make([]float64, e.table.dimensions)
	for token := range int32(e.tokens.Size()) {
		e.table.add(sum, token)
	}
	if e.empty = unit(sum); e.empty == nil {
		e.empty = make([]float32, e.table.dimensions)
		e.empty[0] = 1
	}
	print := sha256.New()
	print.Write(words)
	print.Write(weights)
	e.model = inference.EmbeddingModel{
		Name:       fmt.Sprintf("%s:%s:%s", c.name(), kind, hex.EncodeToString(print.Sum(nil)[:4])),
		Dimensions: e.table.dimensions,
	}
	return e, nil
}

// kind is the part of an embedding space's name that says that this package computed the vectors.
const kind = "static"

// names matches the names that Model returns.
var names = regexp.MustCompile(`^.+:` + kind + `:[0-9a-f]{8}$`)

// Named reports whether a model's name has this package's form. No embedding service knows such a name.
func Named(model string) bool { return names.MatchString(model) }

func (c Config) name() string {
	if c.Name != "" {
		name, _, _ := strings.Cut(c.Name, "@")
		return path.Base(name)
	}
	if abs, err := filepath.Abs(c.Dir); err == nil {
		return filepath.Base(abs)
	}
	return filepath.Base(c.Dir)
}

// read reads a file up to a size limit.
func read(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("embedding table: there is no %s", file)
	}
	if err != nil {
		return nil, fmt.Errorf("embedding table: %w", err)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf(
			"embedding table: %s has %d bytes; at most %d are supported",
			file,
			info.Size(),
			maxFileBytes,
		)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("embedding table: %w", err)
	}
	return raw, nil
}

// Model implements inference.Embedder. The name ends with a fingerprint of the table and the tokenizer, so it
// changes whenever the vectors change.
func (e *Embedder) Model() inference.EmbeddingModel { return e.model }

// Embed implements inference.Embedder. It fails only when ctx is done.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, inference.Usage, error) {
	usage := inference.Usage{Model: e.model.Name}
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, usage, err
		}
		tokens := e.tokens.Tokens(text, maxTokens)
		usage.PromptTokens += int64(len(tokens))
		out[i] = e.vector(tokens)
	}
	usage.Calls = 1
	return out, usage, nil
}

// vector is the mean of the tokens' vectors, scaled to length one. A text without known tokens gets the mean of all
// tokens, which is near no text in particular.
func (e *Embedder) vector(tokens []int32) []float32 {
	sum := make([]float64, e.table.dimensions)
	for _, token := range tokens {
		e.table.add(sum, token)
	}
	if v := unit(sum); v != nil {
		return v
	}
	return append([]float32(nil), e.empty...)
}

// unit scales a vector to length one, or returns nil if it has no direction.
func unit(sum []float64) []float32 {
	square := 0.0
	for _, v := range sum {
		square += float64(v * v)
	}
	if square == 0 || math.IsInf(square, 0) {
		return nil
	}
	norm := math.Sqrt(square)
	out := make([]float32, len(sum))
	for i, v := range sum {
		out[i] = float32(v / norm)
	}
	return out
}
