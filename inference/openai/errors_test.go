package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/openai"
	"github.com/mneme/mneme/inference/reply"
	"github.com/mneme/mneme/schema"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	body := `{"error":{"message":"your text ` + canary + ` and key ` + apiKey + `","type":"some_error","param":"` +
		canary + `","code":"some_code"}}`
	limited := func(d time.Duration) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			var r *inference.RateLimitError
			require.ErrorAs(t, err, &r)
			require.InDelta(t, d.Seconds(), r.RetryAfter.Seconds(), max(1, d.Seconds()/60))
			require.False(t, inference.IsPermanent(err))
		}
	}
	says := func(permanent bool, text string) func(*testing.T, error) {
		return func(t *testing.T, err error) {
			require.EqualError(t, err, text)
			require.Equal(t, permanent, inference.IsPermanent(err))
			require.Nil(t, errors.Unwrap(err), "Temporal writes the causes of an error into the history")
		}
	}
	inAnHour := func(layout string) func(http.ResponseWriter, request) {
		return func(w http.ResponseWriter, r request) {
			status(429, body, "Retry-After", time.Now().Add(time.Hour).UTC().Format(layout))(w, r)
		}
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter, request)
		check  func(*testing.T, error)
	}{
		"400": {status(400, body),
			says(true, "model endpoint refused: status 400, some_error, some_code")},
		"401": {status(401, body),
			says(true, "model endpoint refused: status 401, some_error, some_code")},
		"402": {status(402, body),
			says(true, "model endpoint refused: status 402, some_error, some_code")},
		"403": {status(403, body),
			says(true, "model endpoint refused: status 403, some_error, some_code")},
		"404": {status(404, body),
			says(true, "model endpoint refused: status 404, some_error, some_code")},
		"405": {status(405, ""), says(true, "model endpoint refused: status 405")},
		"413": {status(413, body),
			says(true, "model endpoint refused: status 413, some_error, some_code")},
		"422": {status(422, body),
			says(true, "model endpoint refused: status 422, some_error, some_code")},
		"408": {status(408, body),
			says(false, "model endpoint failed: status 408, some_error, some_code")},
		"409": {status(409, body),
			says(false, "model endpoint failed: status 409, some_error, some_code")},
		"500": {status(500, body),
			says(false, "model endpoint failed: status 500, some_error, some_code")},
		"502 in HTML": {status(502, "<html>"+canary+"</html>", "Content-Type", "text/html"),
			says(false, "model endpoint failed: status 502")},
		"503": {status(503, body),
			says(false, "model endpoint failed: status 503, some_error, some_code")},
		"504 empty": {status(504, ""), says(false, "model endpoint failed: status 504")},
		"error is a string": {status(400, `{"error":"`+canary+`"}`),
			says(true, "model endpoint refused: status 400")},
		"fields at the top": {status(400,
			`{"object":"error","message":"`+canary+`","type":"BadRequestError","code":400}`),
			says(true, "model endpoint refused: status 400, BadRequestError")},
		"type is prose": {status(400,
			`{"error":{"type":"the text `+canary+` is bad","code":"`+strings.Repeat("x", 99)+`"}}`),
			says(true, "model endpoint refused: status 400")},
		"type holds the key": {status(401, `{"error":{"type":"bad-`+apiKey+`"}}`),
			says(true, "model endpoint refused: status 401")},
		"retry-after seconds":   {status(429, body, "Retry-After", "17"), limited(17 * time.Second)},
		"retry-after fraction":  {status(429, body, "Retry-After", " 2.5 "), limited(2500 * time.Millisecond)},
		"retry-after HTTP date": {inAnHour(http.TimeFormat), limited(time.Hour)},
		"retry-after RFC 850":   {inAnHour("Monday, 02-Jan-06 15:04:05 GMT"), limited(time.Hour)},
		"retry-after past date": {status(429, body, "Retry-After", "Wed, 18 Mar 2015 10:00:00 GMT"), limited(0)},
		"retry-after-ms first": {status(429, body, "Retry-After-Ms", "4000", "Retry-After", "60"),
			limited(4 * time.Second)},
		"retry-after absurd":   {status(429, body, "Retry-After", "1e400"), limited(24 * time.Hour)},
		"retry-after negative": {status(429, body, "Retry-After", "-5"), limited(0)},
		"retry-after NaN":      {status(429, body, "Retry-After", "NaN"), limited(0)},
		"retry-after nonsense": {status(429, body, "Retry-After", canary), limited(0)},
		"429 without a wait":   {status(429, ""), limited(0)},
		"503 with a wait":      {status(503, "", "Retry-After", "30"), limited(30 * time.Second)},
		"503 with nonsense": {status(503, "", "Retry-After", "soon"),
			says(false, "model endpoint failed: status 503")},
		"200 with an error": {status(200,
			`{"error":{"message":"`+canary+`","code":502,"type":"provider_error"},"choices":[],"data":[]}`),
			says(false, "model endpoint failed: status 200, provider_error, 502")},
		"200 in HTML": {status(200, "<html>"+canary+"</html>", "Content-Type", "text/html"),
			says(false, "model endpoint failed: status 200 with a body that is not the JSON asked for")},
		"200 cut off": {status(200, `{"choices":[{"message":{"content":"`+canary),
			says(false, "model endpoint failed: status 200 with a body that is not the JSON asked for")},
		"200 with another shape": {status(200, `["`+canary+`"]`),
			says(false, "model endpoint failed: status 200 with a body that is not the JSON asked for")},
		"connection closed": {func(w http.ResponseWriter, _ request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
		}, says(false, "model endpoint failed: it closed the connection")},
		"not HTTP": {func(w http.ResponseWriter, _ request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, canary+" "+canary+"\r\n\r\n")
			_ = conn.Close()
		}, says(false, "model endpoint failed: no usable HTTP response")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, c.answer)
			b := s.brain(t)
			e, usage, err := b.Extractor.Extract(ctx, source)
			c.check(t, err)
			require.Zero(t, e)
			require.Equal(t, inference.Usage{Model: "chat-1", Calls: 1}, usage)
			noLeak(t, err)

			p, _, err := b.Decider.Decide(ctx, fact, neighbors)
			c.check(t, err)
			require.Zero(t, p)
			noLeak(t, err)

			v, _, err := b.Embedder.Embed(ctx, []string{canary})
			c.check(t, err)
			require.Nil(t, v)
			noLeak(t, err)
			require.Len(t, s.requests(), 3, "no retries: Temporal retries")
		})
	}
}

// noLeak checks every rendering of an error and of its causes.
func noLeak(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for ; err != nil; err = errors.Unwrap(err) {
		for _, verb := range []string{"%s", "%v", "%+v", "%#v", "%q"} {
			text := fmt.Sprintf(verb, err)
			require.NotContains(t, text, "CANARY")
			require.NotContains(t, text, "Oslo")
		}
	}
}

func TestEndlessResponse(t *testing.T) {
	t.Parallel()
	mebibyte := []byte(strings.Repeat(" ", 1<<20))
	s := serve(t, func(w http.ResponseWriter, _ request) {
		for range 20 {
			if _, err := w.Write(mebibyte); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, completion(goodExtraction, "stop"))
	})
	_, _, err := s.brain(t).Extractor.Extract(ctx, source)
	require.EqualError(t, err, "model endpoint failed: status 200 with a body that is not the JSON asked for")
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	b, err := openai.New(openai.Config{BaseURL: "http://" + l.Addr().String(), ChatModel: "m"})
	require.NoError(t, err)
	_, usage, err := b.Extractor.Extract(ctx, source)
	require.ErrorContains(t, err, "connection refused")
	require.False(t, inference.IsPermanent(err))
	require.Equal(t, 1, usage.Calls)
	noLeak(t, err)
}

func TestTimeoutAndCancellation(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	late := func(before string) *server {
		return serve(t, func(w http.ResponseWriter, _ request) {
			_, _ = io.WriteString(w, before)
			if before != "" {
				w.(http.Flusher).Flush()
			}
			<-release
		})
	}
	silent, halting := late(""), late(`{"choices":[`)
	t.Cleanup(func() { close(release) })
	for name, s := range map[string]*server{"silent": silent, "halting": halting} {
		quick := s.brain(t, func(c *openai.Config) { c.Timeout = 50 * time.Millisecond })
		_, _, err := quick.Extractor.Extract(ctx, source)
		require.EqualError(t, err, "model endpoint failed: no answer within 50ms", name)
		require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's deadline has not passed")

		patient := s.brain(t)
		cancelled, cancel := context.WithCancel(ctx)
		time.AfterFunc(50*time.Millisecond, cancel)
		_, _, err = patient.Decider.Decide(cancelled, fact, neighbors)
		require.ErrorIs(t, err, context.Canceled, name)
		noLeak(t, err)

		expired, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		_, _, err = patient.Embedder.Embed(expired, []string{canary})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, name)

		_, _, err = patient.Extractor.Extract(cancelled, source)
		require.ErrorIs(t, err, context.Canceled, name)
	}
}

func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	const counts = `"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`
	for name, c := range map[string]struct {
		body    string
		warning string
	}{
		"refusal":      {`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":null,"refusal":"I will not touch ` + canary + `"}}],` + counts + `}`, "answer: the model refused"},
		"no choices":   {`{"choices":[],` + counts + `}`, "answer: has no choices"},
		"null choices": {`{"choices":null,` + counts + `}`, "answer: has no choices"},
		"null content": {`{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":null}}],` +
			counts + `}`, "answer: is empty"},
		"no message": {`{"choices":[{"finish_reason":"stop"}],` + counts + `}`, "answer: is empty"},
		"blank":      {completion(" \n", "stop"), "answer: is empty"},
		"all thought": {completion("<think>"+goodDecision+goodExtraction, "length"),
			"answer: cut off at the endpoint's token limit"},
		"filtered": {completion("", "content_filter"), "answer: cut off by the endpoint's content filter"},
		"prose":    {completion(canary, "stop"), "answer: holds no JSON object with"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := serve(t, status(200, c.body)).brain(t)
			e, usage, err := b.Extractor.Extract(ctx, source)
			require.NoError(t, err)
			require.Empty(t, e.Facts)
			require.Contains(t, strings.Join(e.Warnings, "\n"), c.warning)
			require.NotContains(t, strings.Join(e.Warnings, "\n"), canary)
			require.Equal(t, inference.Usage{Model: "chat-1", Calls: 1, PromptTokens: 11, CompletionTokens: 7}, usage,
				"the call was charged")

			p, usage, err := b.Decider.Decide(ctx, fact, neighbors)
			require.NoError(t, err)
			require.Equal(t, schema.ActionNone, p.Action)
			require.Contains(t, strings.Join(p.Warnings, "\n"), c.warning)
			require.Equal(t, int64(7), usage.CompletionTokens)
		})
	}
}

func TestTruncatedAnswers(t *testing.T) {
	t.Parallel()
	b := serve(t, status(200, completion(goodExtraction[:len(goodExtraction)-15], "length"))).brain(t)
	e, _, err := b.Extractor.Extract(ctx, source)
	require.NoError(t, err)
	require.Len(t, e.Facts, 1, "complete elements are kept")
	require.Equal(t, "answer: cut off at the endpoint's token limit", e.Warnings[0])

	for _, finish := range []string{"length", "content_filter"} {
		b = serve(t, status(200, completion(goodDecision+" but then", finish))).brain(t)
		p, _, err := b.Decider.Decide(ctx, fact, neighbors)
		require.NoError(t, err)
		require.Equal(t, schema.ActionNone, p.Action, "a truncated decision changes nothing")
		require.Len(t, p.Warnings, 2)
	}
}

// The client returns for the malformed answers of package reply what that package reads from them.
func TestMalformedAnswers(t *testing.T) {
	t.Parallel()
	var text atomic.Value
	s := serve(t, func(w http.ResponseWriter, r request) {
		status(200, completion(text.Load().(string), "stop"))(w, r)
	})
	b := s.brain(t)
	for _, kind := range []string{"extraction", "decision"} {
		paths, err := filepath.Glob(filepath.Join("..", "reply", "testdata", "malformed", kind, "*.txt"))
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(paths), 40)
		for _, path := range paths {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			answer := strings.ToValidUTF8(string(raw), "?") // JSON transport
			text.Store(answer)
			blank := strings.TrimSpace(answer) == ""

			e, usage, err := b.Extractor.Extract(ctx, source)
			require.NoError(t, err, path)
			require.Equal(t, int64(7), usage.CompletionTokens, path)
			if !blank {
				require.Equal(t, reply.Extraction(answer), e, path)
			}
			p, _, err := b.Decider.Decide(ctx, fact, neighbors)
			require.NoError(t, err, path)
			if !blank {
				require.Equal(t, reply.Decision(answer, neighbors), p, path)
			}
			if kind == "decision" && !strings.Contains(path, "-ok-") {
				require.Equal(t, schema.ActionNone, p.Action, path)
				require.NotEmpty(t, p.Warnings, path)
			}
		}
	}
}
