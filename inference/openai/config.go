package openai

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Defaults of Config.
const (
	DefaultBaseURL        = "https://api.openai.com/v1"
	DefaultTimeout        = 60 * time.Second
	DefaultEmbeddingBatch = 128
	DefaultEmbeddingChars = 8_000
)

// Config has the endpoint and the models. At least one of ChatModel and EmbeddingModel is required; the parts of the
// Brain whose model is empty are nil. Nothing is read from the environment.
type Config struct {
	// BaseURL is the root of the API, version included, such as http://localhost:11434/v1 for Ollama.
	// It must not contain a user name, query or fragment, because error messages contain addresses.
	// Default DefaultBaseURL.
	BaseURL string

	// APIKey is sent as a bearer token. Required for api.openai.com; most local servers need none.
	APIKey string

	// ChatModel extracts and decides, such as gpt-4.1-mini or qwen3:4b.
	ChatModel string

	// EmbeddingModel embeds, such as text-embedding-3-small or nomic-embed-text.
	EmbeddingModel string

	// EmbeddingDimensions is the length of EmbeddingModel's vectors. It is required with EmbeddingModel, because the
	// store creates its indexes before the first call. Another length is a permanent error.
	EmbeddingDimensions int

	// ShortenEmbeddings makes the server shorten vectors to EmbeddingDimensions. Few models allow it
	// (text-embedding-3-*); servers refuse it for others.
	ShortenEmbeddings bool

	// EmbeddingBatch is how many texts one call embeds, at most 2,048. Default DefaultEmbeddingBatch.
	EmbeddingBatch int

	// EmbeddingChars is how many characters of a text are embedded; the rest is cut off, because servers refuse a whole
	// batch if one text exceeds the model's window. Set a lower value for models with a window of 512 tokens. Default
	// DefaultEmbeddingChars.
	EmbeddingChars int

	// Timeout bounds one HTTP call. In a worker it must be less than activities.MaxStall, after which an attempt that
	// makes no progress is cancelled; package config checks that. A server that does not support structured output is
	// called again at once, so that the first extraction or decision may take a few calls. Default DefaultTimeout.
	Timeout time.Duration

	// HTTPClient makes the calls, for tracing or a private CA. Default: a new client.
	HTTPClient *http.Client
}

// maxEmbeddingBatch is OpenAI's limit.
const maxEmbeddingBatch = 2_048

// withDefaults returns c with its defaults filled in, or an error that names every bad field.
func (c Config) withDefaults() (Config, error) {
	var problems []string
	bad := func(field, problem string) { problems = append(problems, field+": "+problem) }

	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	switch u, err := url.Parse(c.BaseURL); {
	case err != nil: // not quoted, because the address may contain a key
		bad("BaseURL", "is not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		bad("BaseURL", "must be an http or https address")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		bad("BaseURL", "must hold no user name, query or fragment")
	case u.Hostname() == "api.openai.com" && c.APIKey == "":
		bad("APIKey", "is required for api.openai.com")
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		bad("APIKey", "must hold no spaces, line ends or characters beyond ASCII")
	}
	if c.ChatModel == "" && c.EmbeddingModel == "" {
		bad("ChatModel", "is required unless EmbeddingModel is set")
	}
	if c.EmbeddingModel != "" && c.EmbeddingDimensions <= 0 {
		bad("EmbeddingDimensions", "is required with EmbeddingModel")
	}
	if c.EmbeddingDimensions < 0 || c.EmbeddingModel == "" && c.EmbeddingDimensions != 0 {
		bad("EmbeddingDimensions", "must be positive, and comes with EmbeddingModel")
	}
	if c.EmbeddingBatch < 0 || c.EmbeddingBatch > maxEmbeddingBatch {
		bad("EmbeddingBatch", fmt.Sprintf("must be at most %d", maxEmbeddingBatch))
	}
	if c.EmbeddingChars < 0 {
		bad("EmbeddingChars", "must be positive")
	}
	if c.Timeout < 0 {
		bad("Timeout", "must be positive")
	}
	if problems != nil {
		return Config{}, fmt.Errorf("openai config: %s", strings.Join(problems, "; "))
	}

	if c.EmbeddingBatch == 0 {
		c.EmbeddingBatch = DefaultEmbeddingBatch
	}
	if c.EmbeddingChars == 0 {
		c.EmbeddingChars = DefaultEmbeddingChars
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{Transport: http.DefaultTransport}
	}
	return c, nil
}

// String never shows the key.
func (c Config) String() string {
	key := "no key"
	if c.APIKey != "" {
		key = "key set"
	}
	return fmt.Sprintf("%s (%s), chat model %q, embedding model %q of %d dimensions",
		c.BaseURL, key, c.ChatModel, c.EmbeddingModel, c.EmbeddingDimensions)
}

// GoString never shows the key.
func (c Config) GoString() string { return c.String() }
