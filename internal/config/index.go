package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/local"
	"github.com/mneme/mneme/inference/openai"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/inference/static"
	"github.com/mneme/mneme/store"
	"github.com/mneme/mneme/store/vector"
)

// QdrantSettings have the address of the vector index. Without a URL it is in Postgres.
type QdrantSettings struct {
	URL    string // QDRANT_URL
	APIKey string // QDRANT_API_KEY
	CAFile string // QDRANT_CA_FILE: PEM certificates in addition to the system's; empty for the system's only
	Prefix string // QDRANT_PREFIX: begins the names of collections; installations that share a server need one each
}

// String omits the key, because settings appear in logs and in the output of failed tests.
func (q QdrantSettings) String() string {
	if q.URL == "" {
		return "in Postgres"
	}
	return "Qdrant, collections " + q.Prefix + "-…"
}

// GoString is String, for %#v.
func (q QdrantSettings) GoString() string { return q.String() }

func (e *reader) qdrant() QdrantSettings {
	return QdrantSettings{URL: e.text("QDRANT_URL", ""), APIKey: e.text("QDRANT_API_KEY", ""),
		CAFile: e.text("QDRANT_CA_FILE", ""), Prefix: e.text("QDRANT_PREFIX", "mneme")}
}

// OpenIndex opens the vector index that the configuration names: Qdrant if QDRANT_URL is set, otherwise the one in
// Postgres. Qdrant may be unavailable: the connection is made at the first call.
func (c Config) OpenIndex(st *store.Store) (index vector.Index, closeIndex func(), err error) {
	if c.Qdrant.URL == "" {
		return vector.PGVector{Store: st}, func() {}, nil
	}
	settings := vector.QdrantConfig{URL: c.Qdrant.URL, APIKey: c.Qdrant.APIKey, Prefix: c.Qdrant.Prefix}
	if c.Qdrant.CAFile != "" {
		pem, err := os.ReadFile(c.Qdrant.CAFile)
		if err != nil {
			return nil, nil, fmt.Errorf("QDRANT_CA_FILE: %w", err)
		}
		if settings.RootCA, err = x509.SystemCertPool(); err != nil {
			settings.RootCA = x509.NewCertPool()
		}
		if !settings.RootCA.AppendCertsFromPEM(pem) {
			return nil, nil, errors.New("QDRANT_CA_FILE: contains no certificate")
		}
	}
	q, err := vector.OpenQdrant(settings)
	if err != nil {
		return nil, nil, fmt.Errorf("QDRANT_URL, QDRANT_PREFIX: %w", err)
	}
	return q, func() { _ = q.Close() }, nil
}

// OtherEmbedder returns the embedder of a model that is not the configured one, as long as an index of the previous
// model is in use: the offline one, or another model at the same OpenAI-compatible endpoint. For any other model it
// returns vector.ErrNoEmbedder. Only the first call shows whether the endpoint has the model. Names of other embedders
// are never sent to it, nor names with a passage prefix that is no longer set.
func (c Config) OtherEmbedder(model inference.EmbeddingModel) (inference.Embedder, error) {
	if hash := rules.New().Embedder; hash.Model().Name == model.Name {
		return hash, nil
	}
	asked := model
	model = asked.WithoutSpeakers()
	if c.Embedder != "openai" || model.Dimensions == 0 || strings.HasPrefix(model.Name, "hash-") ||
		local.Named(model.Name) || static.Named(model.Name) {
		return nil, vector.ErrNoEmbedder
	}
	settings, query, passage := c.OpenAI, "", ""
	settings.ChatModel, settings.EmbeddingModel, settings.EmbeddingDimensions = "", model.Name, model.Dimensions
	if named := withPrefix.FindStringSubmatch(model.Name); named != nil {
		settings.EmbeddingModel, query, passage = named[1], local.Prefix(c.Local.QueryPrefix),
			local.Prefix(c.Local.PassagePrefix)
	}
	brain, err := openai.New(settings)
	if err != nil {
		return nil, fmt.Errorf("embedder of the index's model: %w", err)
	}
	embedder := inference.WithPrefixes(c.Gate.Embedder(brain.Embedder), query, passage)
	if embedder.Model() != model {
		return nil, vector.ErrNoEmbedder
	}
	return inference.InSpace(embedder, asked), nil
}

// withPrefix matches the names that inference.WithPrefixes returns.
var withPrefix = regexp.MustCompile(`^(.+)\+[0-9a-f]{8}$`)

// QueryEmbedder returns the embedder of the read path, which embeds for the generation that is searched.
func (c Config) QueryEmbedder(st *store.Store, index vector.Index, configured inference.Embedder) *vector.Embedders {
	return &vector.Embedders{Configured: configured, Other: c.OtherEmbedder, Store: st, Index: index.Name()}
}
