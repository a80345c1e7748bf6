package openai

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"
)

// Clients for the two calls that Mneme makes. OpenAI's SDK is not used: it would be by far the slowest package to
// build, and its retries, errors and use of environment variables would have to be disabled.

type completionRequest struct {
	Model          string          `json:"model"`
	Messages       []message       `json:"messages"`
	Temperature    *float64        `json:"temperature,omitempty"`
	ResponseFormat *responseFormat `json:"response_format,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type responseFormat struct {
	Type       string       `json:"type"`
	JSONSchema *namedSchema `json:"json_schema,omitempty"`
}

// namedSchema has the schema as text, because models answer in the order of its properties.
type namedSchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

type completion struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content content `json:"content"`
			Refusal string  `json:"refusal"`
		} `json:"message"`
	} `json:"choices"`
	Usage tokens          `json:"usage"`
	Error json.RawMessage `json:"error"` // of gateways that send it with status 200
}

// content is the text of an answer: a string or, from some models that reason, a list of parts. Those of type text
// are the answer.
type content string

// UnmarshalJSON implements json.Unmarshaler.
func (c *content) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, (*string)(c))
	}
	var parts []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		var text string
		if part.Type == "text" && json.Unmarshal(part.Text, &text) == nil {
			*c += content(text)
		}
	}
	return nil
}

type tokens struct{ PromptTokens, CompletionTokens int64 }

// UnmarshalJSON implements json.Unmarshaler. A count in another form is 0: it must not lose the answer.
func (t *tokens) UnmarshalJSON(data []byte) error {
	var counts struct {
		Prompt     json.RawMessage `json:"prompt_tokens"`
		Completion json.RawMessage `json:"completion_tokens"`
	}
	_ = json.Unmarshal(data, &counts)
	t.PromptTokens, t.CompletionTokens = count(counts.Prompt), count(counts.Completion)
	return nil
}

// count reads a number of tokens. A number below 0 or above any real one is 0.
func count(data json.RawMessage) int64 {
	var n float64
	if json.Unmarshal(data, &n) != nil || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int64(n)
}

type embeddingRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"` // only if the endpoint has to shorten the vectors
}

type embeddings struct {
	Data []struct {
		Index     int    `json:"index"`
		Embedding vector `json:"embedding"`
	} `json:"data"`
	Usage tokens          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// vector is an embedding as a list of numbers, or as 32-bit floats in base64, which some servers always send.
type vector []float64

// UnmarshalJSON implements json.Unmarshaler. A null among the numbers is NaN, because servers write NaN as null.
func (v *vector) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var raw []byte
		if err := json.Unmarshal(data, &raw); err != nil {
			return err
		}
		for ; len(raw) >= 4; raw = raw[4:] {
			*v = append(*v, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))))
		}
		return nil
	}
	var numbers []*float64
	if err := json.Unmarshal(data, &numbers); err != nil {
		return err
	}
	*v = make(vector, len(numbers))
	for i, n := range numbers {
		(*v)[i] = math.NaN()
		if n != nil {
			(*v)[i] = *n
		}
	}
	return nil
}

// endpoint makes calls and turns their failures into errors that hold no content.
type endpoint struct {
	base    string // URL without a slash at the end
	key     string
	client  *http.Client
	timeout time.Duration
}

// call posts a request and decodes the answer. It reads a limited number of bytes. If it fails, failure has the
// endpoint's answer, if there was one.
func (e endpoint) call(
	ctx context.Context, path string, request any, most int64, answer any,
) (failure refusal, err error) {
	if ctx.Err() != nil {
		return failure, ctx.Err()
	}
	timed, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	res, err := e.post(timed, path, request)
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		if res.StatusCode >= http.StatusBadRequest {
			failure = readRefusal(res)
		} else {
			err = decode(http.MaxBytesReader(nil, res.Body, most), answer)
		}
	}
	switch {
	case err == nil && failure.status == 0:
		return failure, nil
	case ctx.Err() != nil:
		return refusal{}, ctx.Err()
	case failure.status != 0:
		return failure, e.errorOf(failure)
	case timed.Err() != nil:
		return failure, temporaryError(fmt.Sprintf("no answer within %s", e.timeout))
	case res != nil:
		return failure, temporaryError(fmt.Sprintf("status %d with a body that is not the JSON asked for", res.StatusCode))
	default:
		return failure, temporaryError(describe(err))
	}
}

func (e endpoint) post(ctx context.Context, path string, request any) (*http.Response, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	return e.client.Do(req)
}

// decode reads an answer to its end.
func decode(r io.Reader, into any) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}
