package static_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/static"
)

// entry is one tensor of a safetensors file.
type entry struct {
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	Data  [2]int `json:"data_offsets"`
	bytes []byte `json:"-"`
}

func tensors(t *testing.T, entries map[string]entry) []byte {
	var data []byte
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	for name, e := range entries {
		e.Data = [2]int{len(data), len(data) + len(e.bytes)}
		data = append(data, e.bytes...)
		header[name] = e
	}
	raw, err := json.Marshal(header)
	require.NoError(t, err)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(raw)))
	return append(append(out, raw...), data...)
}

func of(dtype string, shape []int, values any) entry {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, values); err != nil {
		panic(err)
	}
	return entry{DType: dtype, Shape: shape, bytes: b.Bytes()}
}

// wordPiece has the tokens [UNK] 0, cat 1, dog 2, ##s 3, tea 4.
const wordPiece = `{"normalizer": {"type": "BertNormalizer", "lowercase": true},
	"pre_tokenizer": {"type": "BertPreTokenizer"},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
		"vocab": {"[UNK]": 0, "cat": 1, "dog": 2, "##s": 3, "tea": 4}}}`

var rows = []float32{0, 0, 9, 1, 0, 0, 1, 1, 0, 0, 0.5, 0, 0, 0, 1}

// model writes a directory with a table of three dimensions for the tokens of wordPiece; files replaces some of its
// files.
func model(t *testing.T, files map[string][]byte) string {
	dir := filepath.Join(t.TempDir(), "pets")
	require.NoError(t, os.Mkdir(dir, 0o755))
	all := map[string][]byte{"tokenizer.json": []byte(wordPiece),
		"model.safetensors": tensors(t, map[string]entry{"embeddings": of("F32", []int{5, 3}, rows)})}
	maps.Copy(all, files)
	for name, content := range all {
		if content != nil {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
	}
	return dir
}

func load(t *testing.T, dir string) *static.Embedder {
	e, err := static.New(static.Config{Dir: dir})
	require.NoError(t, err)
	return e
}

func embed(t *testing.T, e inference.Embedder, text string) []float32 {
	v, _, err := e.Embed(t.Context(), []string{text})
	require.NoError(t, err)
	require.Len(t, v, 1)
	square := 0.0
	for _, x := range v[0] {
		square += float64(x) * float64(x)
	}
	require.InDelta(t, 1, square, 1e-6, text)
	return v[0]
}

func TestATextIsTheMeanOfItsTokens(t *testing.T) {
	t.Parallel()
	e := load(t, model(t, nil))
	require.Equal(t, 3, e.Model().Dimensions)
	require.Equal(t, []float32{1, 0, 0}, embed(t, e, "Cat"))
	require.InDeltaSlice(
		t,
		[]float32{float32(2 / math.Sqrt(5)), float32(1 / math.Sqrt(5)), 0},
		embed(t, e, "cat, dog"),
		1e-6,
		"signs that the vocabulary lacks do not count",
	)
	require.InDeltaSlice(
		t,
		[]float32{float32(1 / math.Sqrt(1.25)), float32(0.5 / math.Sqrt(1.25)), 0},
		embed(t, e, "cats"),
		1e-6,
	)
	require.Equal(t, embed(t, e, "zebra"), embed(t, e, ""), "a text without known tokens, and an empty one")
	require.Equal(t, embed(t, e, "dog tea dog"), embed(t, load(t, model(t, nil)), "dog tea dog"))
}

func TestTableFormatsAreEquivalent(t *testing.T) {
	t.Parallel()
	want := embed(t, load(t, model(t, nil)), "cats tea")
	halves := []uint16{0, 0, 0x4880, 0x3c00, 0, 0, 0x3c00, 0x3c00, 0, 0, 0x3800, 0, 0, 0, 0x3c00}
	for name, file := range map[string]map[string]entry{
		"F16": {"embedding.weight": of("F16", []int{5, 3}, halves)},
		"BF16": {"x": of("BF16", []int{5, 3},
			[]uint16{0, 0, 0x4110, 0x3f80, 0, 0, 0x3f80, 0x3f80, 0, 0, 0x3f00, 0, 0, 0, 0x3f80})},
		"I8": {"x": of("I8", []int{5, 3}, []int8{0, 0, 18, 2, 0, 0, 2, 2, 0, 0, 1, 0, 0, 0, 2})},
		"mapped and weighted": {
			"embeddings": of("F32", []int{4, 3}, []float32{0, 1, 0, 2, 0, 0, 1, 1, 0, 0, 0, 1}),
			"mapping":    of("I64", []int{5}, []int64{3, 1, 2, 0, 3}),
			"weights":    of("F32", []int{5}, []float32{9, 0.5, 1, 0.5, 1})},
	} {
		e := load(t, model(t, map[string][]byte{"model.safetensors": tensors(t, file)}))
		require.InDeltaSlice(t, want, embed(t, e, "cats tea"), 1e-6, name)
	}
}

// A vocabulary of the Llama family: words begin with ▁, pairs are joined, and other characters are written as bytes.
func TestABytePairVocabulary(t *testing.T) {
	t.Parallel()
	vocab := map[string]int{
		"<unk>":  0,
		"▁":      1,
		"c":      2,
		"a":      3,
		"t":      4,
		"at":     5,
		"cat":    6,
		"▁cat":   7,
		"<0xC3>": 8,
		"<0xA9>": 9,
		"▁a":     10,
	}
	raw, err := json.Marshal(map[string]any{
		"normalizer": map[string]any{"type": "Sequence", "normalizers": []any{
			map[string]any{"type": "Prepend", "prepend": "▁"},
			map[string]any{"type": "Replace", "pattern": map[string]string{"String": " "}, "content": "▁"}}},
		"pre_tokenizer": nil,
		"model": map[string]any{"type": "BPE", "byte_fallback": true, "vocab": vocab,
			"merges": []any{"▁ a", "a t", []string{"c", "at"}, "▁ cat"}}})
	require.NoError(t, err)
	table := make([]float32, 11*11)
	for i := range 11 {
		table[i*11+i] = 1
	}
	e := load(t, model(t, map[string][]byte{"tokenizer.json": raw,
		"model.safetensors": tensors(t, map[string]entry{"x": of("F32", []int{11, 11}, table)})}))
	tokens := func(text string) (out []int) {
		for i, v := range embed(t, e, text) {
			if v > 0 {
				out = append(out, i)
			}
		}
		return out
	}
	require.Equal(t, []int{7}, tokens("cat cat"))
	require.Equal(t, []int{4, 10}, tokens("at"), "▁a has the lower rank and is joined first")
	require.Equal(t, []int{7, 8, 9}, tokens("caté"))
	require.Equal(t, []int{1, 7}, tokens(" cat"), "a second space is a separate token")
	require.Equal(t, []int{1, 6}, tokens(" ?cat"), "? has no byte token here, and separates the text around it")
}

func TestFaultyTables(t *testing.T) {
	t.Parallel()
	good := tensors(t, map[string]entry{"embeddings": of("F32", []int{5, 3}, rows)})
	table := func(e map[string]entry) map[string][]byte {
		return map[string][]byte{"model.safetensors": tensors(t, e)}
	}
	words := func(from, to string) map[string][]byte {
		require.Contains(t, wordPiece, from)
		return map[string][]byte{"tokenizer.json": []byte(strings.Replace(wordPiece, from, to, 1))}
	}
	nan := append([]float32{float32(math.NaN())}, rows[1:]...)
	for name, c := range map[string]struct {
		files map[string][]byte
		says  []string
	}{
		"no table":      {map[string][]byte{"model.safetensors": nil}, []string{"there is no", "model.safetensors"}},
		"no tokenizer":  {map[string][]byte{"tokenizer.json": nil}, []string{"there is no", "tokenizer.json"}},
		"empty":         {map[string][]byte{"model.safetensors": {}}, []string{"model.safetensors is truncated"}},
		"half a header": {map[string][]byte{"model.safetensors": good[:20]}, []string{"header is not complete"}},
		"cut off": {map[string][]byte{"model.safetensors": good[:len(good)-1]},
			[]string{"truncated", `"embeddings"`}},
		"another format": {map[string][]byte{"model.safetensors": []byte("PK\x03\x04 not a table")},
			[]string{"not in the safetensors format"}},
		"doubles": {table(map[string]entry{"e": of("F64", []int{5, 3}, make([]float64, 15))}),
			[]string{"dtype F64", `"e"`}},
		"integers": {table(map[string]entry{"e": of("I32", []int{5, 3}, make([]int32, 15))}),
			[]string{"dtype I32", `"e"`}},
		"shape": {table(map[string]entry{"e": of("F32", []int{5, 4}, rows)}),
			[]string{`60 bytes for "e"`, "takes 80"}},
		"too few rows": {table(map[string]entry{"e": of("F32", []int{4, 3}, rows[:12])}),
			[]string{"4 rows for 5 tokens"}},
		"not a number":  {table(map[string]entry{"e": of("F32", []int{5, 3}, nan)}), []string{`"e"`, "no number"}},
		"only a vector": {table(map[string]entry{"weights": of("F32", []int{5}, rows[:5])}), []string{"no table"}},
		"too few weights": {table(map[string]entry{"e": of("F32", []int{5, 3}, rows),
			"weights": of("F32", []int{3}, rows[:3])}), []string{"3 weights for 5"}},
		"mapped outside": {table(map[string]entry{"e": of("F32", []int{5, 3}, rows),
			"mapping": of("I64", []int{5}, []int64{0, 1, 2, 3, 5})}), []string{"token 4 to row 5 of 5"}},
		"an additional layer": {table(map[string]entry{"e": of("F32", []int{5, 3}, rows),
			"f": of("F32", []int{5, 3}, rows)}), []string{`"f"`, "all that is supported"}},
		"unigram": {words(`"type": "WordPiece"`, `"type": "Unigram"`), []string{"tokenizer.json", `"Unigram"`}},
		"no vocabulary": {map[string][]byte{"tokenizer.json": []byte(`{"model": {"type": "BPE"}}`)},
			[]string{"tokenizer.json", "normalizer"}},
		"negative id": {words(`"dog": 2`, `"dog": -2`), []string{"tokenizer.json", "-2", `"dog"`}},
		"not JSON": {map[string][]byte{"tokenizer.json": []byte("x")},
			[]string{"tokenizer.json is not the JSON"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := static.New(static.Config{Dir: model(t, c.files)})
			for _, part := range c.says {
				require.ErrorContains(t, err, part)
			}
		})
	}
	_, err := static.New(static.Config{Dir: filepath.Join(t.TempDir(), "nowhere")})
	require.ErrorContains(t, err, "there is no directory")
}

func TestModelNameDependsOnTheFiles(t *testing.T) {
	t.Parallel()
	dir := model(t, nil)
	name := load(t, dir).Model().Name
	require.True(t, strings.HasPrefix(name, "pets:static:"), name)
	require.True(t, static.Named(name))
	require.Equal(t, name, load(t, model(t, nil)).Model().Name, "the same files elsewhere")
	other := load(
		t,
		model(t, map[string][]byte{"tokenizer.json": []byte(strings.Replace(wordPiece, "tea", "tee", 1))}),
	)
	require.NotEqual(t, name, other.Model().Name)
	called, err := static.New(static.Config{Dir: dir, Name: "zoo/animals@v1"})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(called.Model().Name, "animals:static:"), called.Model().Name)
}

// With the directory from `make model`, the vectors are compared with those of the model's own package.
func TestRealTable(t *testing.T) {
	dir := os.Getenv("MNEME_TEST_STATIC_DIR")
	if dir == "" {
		t.Skip("MNEME_TEST_STATIC_DIR is not set: there is no real table of vectors")
	}
	e := load(t, dir)
	raw, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var golden []struct {
		Text   string
		Tokens int64
		Head   []float32
	}
	require.NoError(t, json.Unmarshal(raw, &golden))
	for _, g := range golden {
		_, usage, err := e.Embed(t.Context(), []string{g.Text})
		require.NoError(t, err)
		require.Equal(t, g.Tokens, usage.PromptTokens, "%q", g.Text)
		require.InDeltaSlice(t, g.Head, embed(t, e, g.Text)[:len(g.Head)], 1e-4, "%q", g.Text)
	}
	near := func(a, b string) (sum float64) {
		x, y := embed(t, e, a), embed(t, e, b)
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
		return sum
	}
	require.Greater(t, near("my doctor gave me pills", "the physician prescribed medicine"),
		near("my doctor gave me pills", "we planted tomatoes in spring")+0.1)
}

func BenchmarkEmbed(b *testing.B) {
	dir := os.Getenv("MNEME_TEST_STATIC_DIR")
	if dir == "" {
		b.Skip("MNEME_TEST_STATIC_DIR is not set: there is no real table of vectors")
	}
	e, err := static.New(static.Config{Dir: dir})
	require.NoError(b, err)
	text := []string{
		"I went to the lake with my sister last weekend, and we rented a small boat for two hours before " +
			"the rain came.",
	}
	for b.Loop() {
		if _, _, err := e.Embed(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Add(
		[]byte(
			"\x48\x00\x00\x00\x00\x00\x00\x00" +
				`{"e":{"dtype":"F32","shape":[5,1],"data_offsets":[0,20]}}               ` + strings.Repeat(
				"\x00",
				20,
			),
		),
	)
	dir := filepath.Join(f.TempDir(), "m")
	require.NoError(f, os.Mkdir(dir, 0o755))
	require.NoError(f, os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(wordPiece), 0o600))
	f.Fuzz(func(t *testing.T, raw []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), raw, 0o600))
		if e, err := static.New(static.Config{Dir: dir}); err == nil {
			embed(t, e, "cat dog")
		}
	})
}
