// Package openai puts a model behind an OpenAI-compatible API (OpenAI, Ollama, vLLM, llama.cpp, LM
// Studio and others) to work as Extractor, Decider and Embedder.
//
// Calls are made once: Temporal retries them. Errors say what it needs to know (see package
// inference) and are made of status, error type and code alone. They neither quote nor wrap what the
// endpoint or the client said, because both may quote the prompt, which is memory content, and
// Temporal writes the whole chain of an error into the history.
package openai

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
)

// How much of a response is read, in bytes. 2,048 vectors of 1,536 dimensions take 65 MB.
const (
	maxChatResponse      = 8 << 20
	maxEmbeddingResponse = 128 << 20
)

// New returns the Brain that cfg describes, with nil in place of the parts for which it names no
// model. It makes no call. Its parts are safe for concurrent use.
func New(cfg Config) (inference.Brain, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return inference.Brain{}, err
	}
	// The services are made directly: the SDK's client would also read OPENAI_* from the environment.
	options := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL),
		option.WithHTTPClient(cfg.HTTPClient),
		option.WithMaxRetries(0),
	}
	if cfg.APIKey != "" {
		options = append(options, option.WithAPIKey(cfg.APIKey))
	}
	options = slices.Clip(options) // two services append to it
	end := endpoint{timeout: cfg.Timeout, key: cfg.APIKey}
	var brain inference.Brain
	if cfg.ChatModel != "" {
		c := &chat{endpoint: end, service: sdk.NewChatService(append(options, atMost(maxChatResponse))...), model: cfg.ChatModel}
		brain.Extractor, brain.Decider = c, c
		brain.Reranking = inference.Reranking{Reranker: c, Blend: memory.RerankBlendModel, Summarizer: c}
	}
	if cfg.EmbeddingModel != "" {
		brain.Embedder = &embedder{
			endpoint: end,
			service:  sdk.NewEmbeddingService(append(options, atMost(maxEmbeddingResponse))...),
			model:    inference.EmbeddingModel{Name: cfg.EmbeddingModel, Dimensions: cfg.EmbeddingDimensions},
			shorten:  cfg.ShortenEmbeddings,
			batch:    cfg.EmbeddingBatch,
			chars:    cfg.EmbeddingChars,
		}
	}
	return brain, nil
}

// atMost makes longer responses fail, so that no endpoint can fill the worker's memory.
func atMost(bytes int64) option.RequestOption {
	return option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(req)
		if res != nil && res.Body != nil {
			res.Body = http.MaxBytesReader(nil, res.Body, bytes)
		}
		return res, err
	})
}

// The ways to ask for JSON, best first.
const (
	formatSchema int32 = iota
	formatObject
	formatPlain
)

// chat extracts and decides.
type chat struct {
	endpoint
	service sdk.ChatService
	model   string

	// What the endpoint was found not to take, until the process ends.
	format        atomic.Int32 // the best format that it takes
	noTemperature atomic.Bool  // reasoning models of OpenAI take none
}

// Extract implements inference.Extractor.
func (c *chat) Extract(ctx context.Context, src inference.Source) (memory.Extraction, inference.Usage, error) {
	a, usage, err := c.ask(ctx, extractionPrompt(src))
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

// Decide implements inference.Decider. Without neighbours it proposes to add and asks no one.
func (c *chat) Decide(ctx context.Context, fact memory.Fact, neighbors []memory.Neighbor) (memory.Proposal, inference.Usage, error) {
	if len(neighbors) == 0 {
		return memory.Proposal{Action: schema.ActionAdd, Confidence: fact.Confidence, Reason: "nothing similar is known"}, inference.Usage{}, nil
	}
	a, usage, err := c.ask(ctx, decisionPrompt(fact, neighbors))
	if err != nil {
		return memory.Proposal{}, usage, err
	}
	if a.text == "" {
		return reply.Undecided(a.warnings...), usage, nil
	}
	p := reply.Decision(a.text, neighbors)
	p.Warnings = append(a.warnings, p.Warnings...)
	if a.partial && (p.Action == schema.ActionUpdate || p.Action == schema.ActionDelete) {
		p = reply.Undecided(append(p.Warnings, "answer: a decision to change or remove counts only when the answer is complete")...)
	}
	return p, usage, nil
}

// prompt is one question.
type prompt struct {
	name   string // of the schema
	schema []byte
	system string
	user   string
}

// answer is what the model said. Its text is empty when it said nothing; warnings tell why.
type answer struct {
	text     string
	partial  bool // the endpoint stopped it
	warnings []string
}

// ask sends the prompt in the best format that the endpoint takes. A worse format is remembered
// only once it has worked, so that a 400 for another reason cannot spoil later calls.
func (c *chat) ask(ctx context.Context, p prompt) (answer, inference.Usage, error) {
	usage := inference.Usage{Model: c.model}
	format, warm := c.format.Load(), !c.noTemperature.Load()
	remember := true
	for {
		var res *sdk.ChatCompletion
		usage.Calls++
		no, err := c.call(ctx, func(ctx context.Context, opts ...option.RequestOption) (err error) {
			res, err = c.service.Completions.New(ctx, c.request(p, format, warm), opts...)
			return err
		})
		if err == nil {
			if remember {
				raise(&c.format, format)
			}
			if !warm {
				c.noTemperature.Store(true)
			}
			usage.PromptTokens += max(0, res.Usage.PromptTokens)
			usage.CompletionTokens += max(0, res.Usage.CompletionTokens)
			if no, broken := embeddedError(res.JSON.ExtraFields["error"].Raw(), len(res.Choices)); broken {
				return answer{}, usage, c.errorOf(no)
			}
			return read(res), usage, nil
		}
		switch {
		case no.badRequest() && format < formatPlain && no.about("response_format", "json_schema", "json_object", "json_validate_failed", "structured output", "guided", "grammar"):
			format++
			remember = remember && !no.about("json_validate_failed") // one answer went wrong, not the format
		case no.badRequest() && warm && no.about("temperature"):
			warm = false
		default:
			return answer{}, usage, err
		}
	}
}

// raise sets v to at least to.
func raise(v *atomic.Int32, to int32) {
	for old := v.Load(); old < to && !v.CompareAndSwap(old, to); old = v.Load() {
	}
}

func (c *chat) request(p prompt, format int32, warm bool) sdk.ChatCompletionNewParams {
	params := sdk.ChatCompletionNewParams{
		Model:    c.model,
		Messages: []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage(p.system), sdk.UserMessage(p.user)},
	}
	if warm {
		params.Temperature = sdk.Float(0)
	}
	switch format {
	case formatSchema:
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: p.name, Strict: sdk.Bool(true), Schema: rawJSON(p.schema),
			},
		}
	case formatObject:
		params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	return params
}

// rawJSON keeps the order of a schema's properties, in which models answer.
type rawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// read takes the first choice of a completion.
func read(res *sdk.ChatCompletion) answer {
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
	case strings.TrimSpace(choice.Message.Content) == "":
		a.warnings = append(a.warnings, "answer: is empty")
	default:
		a.text = choice.Message.Content
	}
	return a
}

// endpoint makes calls and turns their failures into errors that hold no content.
type endpoint struct {
	timeout time.Duration
	key     string
}

// call makes one call. When it fails, no says what the endpoint answered, if it did.
func (e endpoint) call(ctx context.Context, do func(context.Context, ...option.RequestOption) error) (no refusal, err error) {
	if ctx.Err() != nil {
		return no, ctx.Err()
	}
	timed, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	var res *http.Response
	err = do(timed, option.WithResponseInto(&res))
	switch {
	case err == nil:
		return no, nil
	case ctx.Err() != nil:
		return no, ctx.Err()
	case res != nil && res.StatusCode >= 400:
		no = readRefusal(res)
		return no, e.errorOf(no)
	case timed.Err() != nil:
		return no, temporaryError(fmt.Sprintf("no answer within %s", e.timeout))
	case res != nil:
		return no, temporaryError(fmt.Sprintf("status %d with a body that is not the JSON asked for", res.StatusCode))
	default:
		return no, temporaryError(describe(err))
	}
}
