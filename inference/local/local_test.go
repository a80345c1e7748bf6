//go:build !nolocal

package local_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/local"
)

const tiny = "testdata/tiny"

// modelWith returns a copy of the tiny model with the given files replaced, or removed if empty.
func modelWith(t *testing.T, name string, files map[string]string) string {
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.CopyFS(dir, os.DirFS(tiny)))
	for file, content := range files {
		path := filepath.Join(dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if content == "" {
			require.NoError(t, os.Remove(path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	return dir
}

func load(t *testing.T, c local.Config) *local.Embedder {
	e, err := local.New(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func embed(t *testing.T, e *local.Embedder, texts ...string) [][]float32 {
	v, usage, err := e.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, v, len(texts))
	require.Equal(t, e.Model().Name, usage.Model)
	return v
}

func query(t *testing.T, e *local.Embedder, text string) []float32 {
	v, _, err := e.EmbedQuery(t.Context(), text)
	require.NoError(t, err)
	return v
}

func near(t *testing.T, want, got []float32, msg string) {
	require.Len(t, got, len(want), msg)
	require.InDelta(t, 1, dot(want, got), 1e-4, msg)
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// golden returns texts with their vectors from the reference implementation.
func golden(t *testing.T, file string) (texts []string, mean, cls [][]float32) {
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var rows []struct {
		Text      string
		Mean, CLS []float32
	}
	require.NoError(t, json.Unmarshal(raw, &rows))
	for _, r := range rows {
		texts, mean, cls = append(texts, r.Text), append(mean, r.Mean), append(cls, r.CLS)
	}
	return texts, mean, cls
}

func TestVectorsMatchTheReference(t *testing.T) {
	t.Parallel()
	texts, mean, cls := golden(t, "testdata/golden.json")
	for pooling, want := range map[string][][]float32{"mean": mean, "cls": cls} {
		e := load(t, local.Config{Dir: tiny, Pooling: pooling})
		require.Equal(t, 16, e.Model().Dimensions)
		for i, v := range embed(t, e, texts...) {
			near(t, want[i], v, "in a batch: "+texts[i])
			near(t, want[i], query(t, e, texts[i]), "alone: "+texts[i])
			require.InDelta(t, 1, math.Sqrt(dot(v, v)), 1e-5)
		}
	}
}

func TestOrderAndPaddingChangeNothing(t *testing.T) {
	t.Parallel()
	e := load(t, local.Config{Dir: tiny})
	var texts []string
	for i := range 90 {
		texts = append(texts, strings.Repeat("the cat likes rain ", i*7%11)+fmt.Sprint(i))
	}
	got := embed(t, e, texts...)
	for i := range texts {
		near(t, query(t, e, texts[i]), got[i], texts[i])
	}
	none, usage, err := e.Embed(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Zero(t, usage.Calls)
}

func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	e := load(t, local.Config{Dir: tiny})
	for _, text := range []string{strings.Repeat("sun and rain ", 10_000), strings.Repeat("x", 100_000),
		strings.Repeat("猫", 40_000)} {
		v, usage, err := e.EmbedQuery(t.Context(), text)
		require.NoError(t, err)
		require.LessOrEqual(t, usage.PromptTokens, int64(32), "max_seq_length")
		near(t, query(t, e, text[:3000]), v, "what is beyond the limit is not read")
	}
}

func TestSpecialTokensInTextAreText(t *testing.T) {
	t.Parallel()
	e := load(t, local.Config{Dir: tiny})
	v := embed(t, e, "cat [SEP] [PAD] dog", "cat", "cat [ sep ] [ pad ] dog")
	require.Less(t, dot(v[0], v[1]), 0.999)
	near(t, v[2], v[0], "special tokens in a text are spelled out")
}

func TestPrefixesOfFamilies(t *testing.T) {
	t.Parallel()
	const instruction = "Represent this sentence for searching relevant passages: "
	plain := load(t, local.Config{Dir: tiny})
	prompts := map[string]string{"config_sentence_transformers.json": `{"prompts":{"query":"what: ","document":"in: "}}`}
	for name, c := range map[string]struct {
		config         local.Config
		query, passage string
	}{
		"e5": {local.Config{Dir: modelWith(t, "e5-small-v2", nil)}, "query: ", "passage: "},
		"e5 by name": {local.Config{Dir: modelWith(t, "snapshot", nil), Model: "intfloat/e5-base-v2"}, "query: ",
			"passage: "},
		"bge":          {local.Config{Dir: modelWith(t, "bge-small-en-v1.5", nil)}, instruction, ""},
		"by its files": {local.Config{Dir: modelWith(t, "e5-tuned", prompts)}, "what: ", "in: "},
		"by setting": {local.Config{Dir: modelWith(t, "e5-small", prompts), QueryPrefix: "ask ",
			PassagePrefix: "tell "}, "ask ", "tell "},
		"switched off": {local.Config{Dir: modelWith(t, "e5-small", nil), QueryPrefix: "none",
			PassagePrefix: "none"}, "", ""},
		"none of its kind": {local.Config{Dir: modelWith(t, "all-MiniLM-L6-v2", nil)}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := load(t, c.config)
			near(t, query(t, plain, c.query+"who likes tea?"), query(t, e, "who likes tea?"), "question")
			near(t, query(t, plain, c.passage+"the dog likes tea"), embed(t, e, "the dog likes tea")[0], "passage")
		})
	}
}

func TestPoolingOfFamilies(t *testing.T) {
	t.Parallel()
	texts, mean, cls := golden(t, "testdata/golden.json")
	for name, want := range map[string][]float32{"bge-small-en": cls[0], "something": mean[0]} {
		e := load(t, local.Config{Dir: modelWith(t, name, map[string]string{"1_Pooling/config.json": ""}),
			QueryPrefix: "none"})
		near(t, want, embed(t, e, texts[0])[0], name)
	}
	e := load(t, local.Config{Dir: modelWith(t, "bge-small-en", nil)})
	near(t, mean[0], embed(t, e, texts[0])[0], "what the files say goes before what the name says")
}

func TestModelNameIdentifiesTheSpace(t *testing.T) {
	t.Parallel()
	name := func(c local.Config) string { return load(t, c).Model().Name }
	base := name(local.Config{Dir: modelWith(t, "m", nil)})
	require.Equal(t, base, name(local.Config{Dir: modelWith(t, "m", nil)}), "the same files have the same name")
	require.Equal(t, base, name(local.Config{Dir: modelWith(t, "elsewhere", nil), Model: "owner/m@main"}),
		"a given name goes before the directory's")
	require.Equal(t, base, name(local.Config{Dir: modelWith(t, "m", nil), QueryPrefix: "q: "}),
		"stored vectors do not depend on the question's prefix")
	require.True(t, strings.HasPrefix(base, "m:mean:"), base)
	for what, c := range map[string]local.Config{
		"pooling":        {Dir: modelWith(t, "m", nil), Pooling: "cls"},
		"passage prefix": {Dir: modelWith(t, "m", nil), PassagePrefix: "p: "},
		"length": {Dir: modelWith(t, "m",
			map[string]string{"sentence_bert_config.json": `{"max_seq_length": 16}`})},
		"model": {Dir: modelWith(t, "n", nil)},
	} {
		require.NotEqual(t, base, name(c), what)
	}
}

func TestInvalidModelDirectories(t *testing.T) {
	t.Parallel()
	file := func(name string) string {
		raw, err := os.ReadFile(filepath.Join(tiny, name))
		require.NoError(t, err)
		return string(raw)
	}
	tokenizer := file("tokenizer.json")
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no graph":          {map[string]string{"model.onnx": ""}, "has no model.onnx"},
		"graph is text":     {map[string]string{"model.onnx": "version https://git-lfs"}, "model.onnx"},
		"graph cut off":     {map[string]string{"model.onnx": file("model.onnx")[:9000]}, "model.onnx"},
		"no tokenizer":      {map[string]string{"tokenizer.json": ""}, "tokenizer.json"},
		"tokenizer is text": {map[string]string{"tokenizer.json": "x"}, "tokenizer.json is not the JSON"},
		"unigram": {map[string]string{"tokenizer.json": strings.Replace(tokenizer,
			`"type": "WordPiece",`+"\n  \"unk", `"type": "Unigram",`+"\n  \"unk", 1)}, `of kind "Unigram"`},
		"other splitting": {map[string]string{"tokenizer.json": strings.Replace(tokenizer, "BertPreTokenizer",
			"Metaspace", 1)}, "pre_tokenizer"},
		"other normalizer": {map[string]string{"tokenizer.json": strings.Replace(tokenizer, "BertNormalizer", "NFKC",
			1)}, "normalizer"},
		"lacks a token": {map[string]string{"tokenizer.json": strings.Replace(tokenizer, `"[UNK]": 1,`, "", 1)},
			"[UNK]"},
		"no config":     {map[string]string{"config.json": ""}, "config.json"},
		"config broken": {map[string]string{"config.json": "{"}, "config.json"},
		"max pooling": {map[string]string{"1_Pooling/config.json": `{"pooling_mode_max_tokens": true}`},
			"1_Pooling/config.json"},
		"other dimensions": {map[string]string{"1_Pooling/config.json": `{"pooling_mode_mean_tokens": true, "word_embedding_dimension": 8}`}, "says 8 dimensions, the graph gives 16"},
		"a layer is missing": {map[string]string{"modules.json": `[{"type": "sentence_transformers.models.Dense"}]`},
			"Dense"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := local.New(t.Context(), local.Config{Dir: modelWith(t, "m", c.files)})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "embedding model: ")
		})
	}
	_, err := local.New(t.Context(), local.Config{Dir: filepath.Join(t.TempDir(), "nowhere")})
	require.ErrorContains(t, err, "there is no directory")
	_, err = local.New(t.Context(), local.Config{})
	require.ErrorContains(t, err, "neither a directory nor a name")
	_, err = local.New(t.Context(), local.Config{Dir: tiny, Graph: "onnx/model_int8.onnx"})
	require.ErrorContains(t, err, "onnx/model_int8.onnx")
	_, err = local.New(t.Context(), local.Config{Dir: tiny, Pooling: "max"})
	require.ErrorContains(t, err, "pooling must be")
}

func TestGraphNextToOtherFiles(t *testing.T) {
	t.Parallel()
	dir := modelWith(t, "m", nil)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "onnx"), 0o755))
	require.NoError(t, os.Rename(filepath.Join(dir, "model.onnx"), filepath.Join(dir, "onnx", "model.onnx")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "onnx", "model_int8.onnx"), []byte("another"), 0o600))
	load(t, local.Config{Dir: dir})
	load(t, local.Config{Dir: dir, Graph: "onnx/model.onnx"})
}

func TestConcurrentCallers(t *testing.T) {
	t.Parallel()
	texts, want, _ := golden(t, "testdata/golden.json")
	e := load(t, local.Config{Dir: tiny})
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			from := n % len(texts)
			v, _, err := e.Embed(t.Context(), texts[from:])
			if err != nil || math.Abs(dot(want[from], v[0])-1) > 1e-4 {
				t.Error("passages", n, err)
			}
			q, _, err := e.EmbedQuery(t.Context(), texts[n])
			if err != nil || math.Abs(dot(want[n], q)-1) > 1e-4 {
				t.Error("question", n, err)
			}
		})
	}
	wg.Wait()
}

func TestContextAndClose(t *testing.T) {
	t.Parallel()
	e, err := local.New(t.Context(), local.Config{Dir: tiny})
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = e.Embed(ended, []string{"cat"})
	require.ErrorIs(t, err, context.Canceled)
	_, _, err = e.EmbedQuery(ended, "cat")
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, e.Close())
	require.NoError(t, e.Close())
	_, _, err = e.EmbedQuery(t.Context(), "cat")
	require.True(t, inference.IsPermanent(err))
}

// TestRealModel uses a real model; testdata/make_model.py says how to prepare its directory.
func TestRealModel(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MNEME_TEST_MODEL_DIR")
	if dir == "" {
		t.Skip("MNEME_TEST_MODEL_DIR is not set: there is no real embedding model")
	}
	e := load(t, local.Config{Dir: dir})
	v := embed(t, e, "The cat sat on the mat.", "Quarterly revenue rose by a tenth.", "She moved to Lisbon in 2021.")
	for question, best := range map[string]int{"Where did the kitten sit?": 0, "How did sales develop?": 1,
		"In which city does she live now?": 2} {
		q := query(t, e, question)
		for i := range v {
			if i != best {
				require.Greater(t, dot(q, v[best]), dot(q, v[i]), "%s: %d before %d", question, best, i)
			}
		}
	}
	if file := filepath.Join(dir, "golden.json"); exists(file) {
		texts, mean, cls := golden(t, file)
		plain := load(t, local.Config{Dir: dir, QueryPrefix: "none", PassagePrefix: "none"})
		want := mean
		if strings.Contains(e.Model().Name, ":cls:") {
			want = cls
		}
		for i, got := range embed(t, plain, texts...) {
			near(t, want[i], got, texts[i])
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
