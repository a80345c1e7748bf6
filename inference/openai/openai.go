package openai

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/memory/rank"
	"github.com/mneme/mneme/schema"
)

// Limits of a response in bytes, so that no endpoint fills the worker's memory. 2,048 vectors of 1,536 dimensions take
// 65 MB.
const (
	maxChatResponse      = 8 << 20
	maxEmbeddingResponse = 128 << 20
)

// New returns the Brain of cfg. Parts without a model are nil. New makes no call. The parts are safe for concurrent
// use.
func New(cfg Config) (inference.Brain, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return inference.Brain{}, err
	}
	end := endpoint{
		base:    strings.TrimRight(cfg.BaseURL, "/"),
		key:     cfg.APIKey,
		client:  cfg.HTTPClient,
		timeout: cfg.Timeout,
	}
	var brain inference.Brain
	if cfg.ChatModel != "" {
		c := &chat{endpoint: end, model: cfg.ChatModel}
		brain.Extractor, brain.Decider, brain.Reasoner, brain.TopicWriter = c, c, c, c
		brain.EpisodeWriter, brain.Describer, brain.DuplicateJudge = c, c, c
		brain.FactReader = c
		brain.Reranking = inference.Reranking{Reranker: c, Blend: rank.RerankBlendModel, Summarizer: c}
	}
	if cfg.EmbeddingModel != "" {
		brain.Embedder = &embedder{
			endpoint: end,
			model:    inference.EmbeddingModel{Name: cfg.EmbeddingModel, Dimensions: cfg.EmbeddingDimensions},
			shorten:  cfg.ShortenEmbeddings,
			batch:    cfg.EmbeddingBatch,
			chars:    cfg.EmbeddingChars,
		}
	}
	return brain, nil
}

// The ways to ask for JSON, best first.
const (
	formatSchema int32 = iota
	formatObject
	formatPlain
)

// chat implements the parts of the Brain that use the chat model.
type chat struct {
	endpoint
	model string

	// What the endpoint does not support, as found by earlier calls of this process.
	format        atomic.Int32 // the best format that it accepts
	noTemperature atomic.Bool  // OpenAI's reasoning models accept no temperature
}

// Extract implements inference.Extractor.
func (c *chat) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	a, usage, err := c.complete(ctx, extractionPrompt(src))
	if err != nil {
		return memory.Extraction{}, usage, err
	}
	if a.text == "" {
		return memory.Extraction{Warnings: a.warnings}, usage, nil
	}
	out := reply.Extraction(a.text)
	out.Warnings = append(a.warnings, out.Warnings...)
	return withoutExample(out, src), usage, nil
}

// Decide implements inference.Decider. Without neighbours it proposes to add and calls no model.
func (c *chat) Decide(
	ctx context.Context,
	fact memory.Fact,
	neighbors []memory.Neighbor,
) (memory.Proposal, inference.Usage, error) {
	if len(neighbors) == 0 {
		return memory.Proposal{
			Action:     schema.ActionAdd,
			Confidence: fact.Confidence,
			Reason:     "nothing similar is known",
		}, inference.Usage{}, nil
	}
	a, usage, err := c.complete(ctx, decisionPrompt(fact, neighbors))
	if err != nil {
		return memory.Proposal{}, usage, err
	}
	if a.text == "" {
		return reply.Undecided(a.warnings...), usage, nil
	}
	p := reply.Decision(a.text, neighbors)
	p.Warnings = append(a.warnings, p.Warnings...)
	if a.partial && (p.Action == schema.ActionUpdate || p.Action == schema.ActionDelete) {
		p = reply.Undecided(
			append(p.Warnings, "answer: a decision to change or remove counts only when the answer is complete")...)
	}
	return p, usage, nil
}

// prompt is a request to the model.
type prompt struct {
	name   string // of the schema
	schema []byte
	system string
	user   string
}

// answer is the model's answer. Its text is empty if there was none; warnings say why.
type answer struct {
	text     string
	partial  bool // the endpoint stopped it
	warnings []string
}

// complete sends the prompt in the best format that the endpoint accepts. A worse format is remembered only after it
// has worked, so that a 400 for another reason does not affect later calls.
func (c *chat) complete(ctx context.Context, p prompt) (answer, inference.Usage, error) {
	usage := inference.Usage{Model: c.model}
	format, temperature := c.format.Load(), !c.noTemperature.Load()
	remember := true
	for {
		var res completion
		usage.Calls++
		failure, err := c.call(ctx, "/chat/completions", c.request(p, format, temperature), maxChatResponse, &res)
		if err == nil {
			if remember {
				raise(&c.format, format)
			}
			if !temperature {
				c.noTemperature.Store(true)
			}
			usage.PromptTokens += max(0, res.Usage.PromptTokens)
			usage.CompletionTokens += max(0, res.Usage.CompletionTokens)
			if failure, broken := embeddedError(string(res.Error), len(res.Choices)); broken {
				return answer{}, usage, c.errorOf(failure)
			}
			return read(res), usage, nil
		}
		switch {
		case failure.badRequest() && format < formatPlain && failure.about("response_format", "json_schema",
			"json_object", "json_validate_failed", "structured output", "guided", "grammar"):
			format++
			// one answer failed validation, the format works
			remember = remember && !failure.about("json_validate_failed")
		case failure.badRequest() && temperature && failure.about("temperature"):
			temperature = false
		default:
			return answer{}, usage, err
		}
	}
}

// raise sets v to the given value if v is smaller.
func raise(v *atomic.Int32, to int32) {
	for old := v.Load(); old < to && !v.CompareAndSwap(old, to); old = v.Load() {
	}
}

func (c *chat) request(p prompt, format int32, temperature bool) completionRequest {
	req := completionRequest{Model: c.model, Messages: []message{{"system", p.system}, {"user", p.user}}}
	if temperature {
		req.Temperature = new(float64)
	}
	switch format {
	case formatSchema:
		req.ResponseFormat = &responseFormat{
			Type:       "json_schema",
			JSONSchema: &namedSchema{Name: p.name, Strict: true, Schema: p.schema},
		}
	case formatObject:
		req.ResponseFormat = &responseFormat{Type: "json_object"}
	}
	return req
}

// read reads the first choice of a completion.
func read(res completion) answer {
	if len(res.Choices) == 0 {
		return answer{warnings: []string{"answer: has no choices"}}
	}
	var a answer
	choice := res.Choices[0]
	switch choice.FinishReason {
	case "length":
		a.partial = true
		a.warnings = append(a.warnings, "answer: cut off at the endpoint's token limit")
	case "content_filter":
		a.partial = true
		a.warnings = append(a.warnings, "answer: cut off by the endpoint's content filter")
	}
	switch {
	case choice.Message.Refusal != "":
		a.warnings = append(a.warnings, "answer: the model refused")
	case strings.TrimSpace(string(choice.Message.Content)) == "":
		a.warnings = append(a.warnings, "answer: is empty")
	default:
		a.text = string(choice.Message.Content)
	}
	return a
}
