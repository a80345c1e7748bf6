package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Poolings: how the vectors of a text's tokens are combined.
const (
	poolMean = "mean" // the mean of all tokens
	poolCLS  = "cls"  // the first token
	poolNone = "none" // the model itself returns one vector for a text
)

// description has the settings in the files of a model.
type description struct {
	name       string
	onnx       string // path of the graph
	onnxBytes  []byte
	tokenizer  []byte
	pooling    string // empty if the files do not set it
	maxTokens  int
	lower      bool // convert to lower case, even if the tokenizer does not
	dense      bool // layers follow that are not in the graph
	dimensions int  // 0 if the files do not set it
	query      string
	passage    string
	outside    []string // files with weights outside the graph
}

// describe reads a directory in the layout of sentence-transformers: config.json, tokenizer.json, an ONNX graph, and,
// if they exist, modules.json, 1_Pooling/config.json, sentence_bert_config.json and
// config_sentence_transformers.json. Errors name the file and the problem.
func describe(c Config) (description, error) {
	d := description{name: modelName(c)}
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return d, fmt.Errorf("embedding model: there is no directory %s", c.Dir)
	}
	var err error
	if d.onnx, err = findGraph(c); err != nil {
		return d, err
	}
	if d.onnxBytes, err = os.ReadFile(d.onnx); err != nil {
		return d, fmt.Errorf("embedding model: %w", err)
	}
	if d.outside, err = filepath.Glob(d.onnx + "[_.]data"); err != nil {
		return d, fmt.Errorf("embedding model: %w", err)
	}
	if d.tokenizer, err = os.ReadFile(filepath.Join(c.Dir, "tokenizer.json")); err != nil {
		return d, fmt.Errorf("embedding model: %w", err)
	}

	var config struct {
		Path         string  `json:"_name_or_path"`
		MaxPositions int     `json:"max_position_embeddings"`
		Hidden       int     `json:"hidden_size"`
		Length       float64 `json:"model_max_length"`
	}
	var sentence struct {
		MaxLength int  `json:"max_seq_length"`
		Lower     bool `json:"do_lower_case"`
	}
	var pooling struct {
		Dimensions int  `json:"word_embedding_dimension"`
		CLS        bool `json:"pooling_mode_cls_token"`
		Mean       bool `json:"pooling_mode_mean_tokens"`
		Max        bool `json:"pooling_mode_max_tokens"`
		Sqrt       bool `json:"pooling_mode_mean_sqrt_len_tokens"`
		Weighted   bool `json:"pooling_mode_weightedmean_tokens"`
		Last       bool `json:"pooling_mode_lasttoken"`
	}
	var prompts struct{ Prompts map[string]string }
	var modules []struct{ Type string }
	for file, into := range map[string]any{"config.json": &config, "sentence_bert_config.json": &sentence,
		"1_Pooling/config.json":             &pooling,
		"config_sentence_transformers.json": &prompts, "modules.json": &modules} {
		if err := readJSON(filepath.Join(c.Dir, filepath.FromSlash(file)), into, file != "config.json"); err != nil {
			return d, err
		}
	}
	if err := readJSON(filepath.Join(c.Dir, "tokenizer_config.json"), &config, true); err != nil {
		return d, err
	}
	d.maxTokens, d.lower, d.dimensions = 512, sentence.Lower, pooling.Dimensions
	for _, n := range []int{config.MaxPositions, sentence.MaxLength, int(min(config.Length, 1e6))} {
		if n > 2 {
			d.maxTokens = min(d.maxTokens, n)
		}
	}
	for _, m := range modules {
		d.dense = d.dense || strings.HasSuffix(m.Type, ".Dense")
	}
	switch {
	case pooling.Max || pooling.Sqrt || pooling.Weighted || pooling.Last || pooling.CLS && pooling.Mean:
		return d, errors.New(
			"embedding model: 1_Pooling/config.json asks for a pooling other than mean or cls, which is not supported",
		)
	case pooling.CLS:
		d.pooling = poolCLS
	case pooling.Mean:
		d.pooling = poolMean
	}
	family := familyOf(d.name, config.Path)
	if d.pooling == "" {
		d.pooling = family.pooling
	}
	d.query, d.passage = family.query, family.passage
	if p, ok := prompts.Prompts["query"]; ok && p != "" {
		d.query = p
	}
	for _, kind := range []string{"passage", "document"} {
		if p, ok := prompts.Prompts[kind]; ok && p != "" {
			d.passage = p
		}
	}
	override(&d.pooling, c.Pooling)
	override(&d.query, c.QueryPrefix)
	override(&d.passage, c.PassagePrefix)
	if c.Pooling != "" && c.Pooling != poolMean && c.Pooling != poolCLS {
		return d, fmt.Errorf("embedding model: pooling must be %s or %s", poolMean, poolCLS)
	}
	return d, nil
}

// version is a fingerprint of everything that a stored vector depends on. The query prefix is not part of it, because
// stored vectors do not depend on it.
func (d description) version() (string, error) {
	h := sha256.New()
	for _, part := range [][]byte{d.onnxBytes, d.tokenizer, []byte(d.pooling), []byte(d.passage),
		fmt.Append(nil, d.maxTokens, d.lower)} {
		_, _ = fmt.Fprintf(h, "%d:", len(part))
		_, _ = h.Write(part)
	}
	for _, file := range d.outside {
		weights, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("embedding model: %w", err)
		}
		_, _ = h.Write(weights)
	}
	return hex.EncodeToString(h.Sum(nil)[:4]), nil
}

// family has the settings that a kind of model was trained with, for directories whose files do not have them.
type family struct{ pooling, query, passage string }

// familyOf returns the family of a model by its published name. bge and similar models need an instruction before a
// question and none before a passage; e5 needs a word before both.
func familyOf(names ...string) family {
	const instruction = "Represent this sentence for searching relevant passages: "
	for _, name := range names {
		name = strings.ToLower(name)
		has := func(parts ...string) bool {
			for _, p := range parts {
				if !strings.Contains(name, p) {
					return false
				}
			}
			return true
		}
		switch {
		case has("bge-m3"):
			return family{pooling: poolCLS}
		case has("bge", "-zh"):
			return family{pooling: poolCLS, query: "为这个句子生成表示以用于检索相关文章："}
		case has("bge-"), has("arctic-embed"), has("mxbai-embed"):
			return family{pooling: poolCLS, query: instruction}
		case has("e5-") && !has("instruct"):
			return family{pooling: poolMean, query: "query: ", passage: "passage: "}
		}
	}
	return family{pooling: poolMean}
}

// noPrefix is the setting that removes a prefix.
const noPrefix = "none"

// Prefix returns the prefix of a setting, for an embedder without a default.
func Prefix(setting string) string {
	prefix := ""
	override(&prefix, setting)
	return prefix
}

func override(to *string, with string) {
	switch with {
	case "":
	case noPrefix:
		*to = ""
	default:
		*to = with
	}
}

// modelName returns the published name without its owner and revision or, without one, the name of the directory.
func modelName(c Config) string {
	if c.Model != "" {
		name, _, _ := strings.Cut(c.Model, "@")
		return path.Base(name)
	}
	if abs, err := filepath.Abs(c.Dir); err == nil {
		return filepath.Base(abs)
	}
	return filepath.Base(c.Dir)
}

// findGraph returns the path of the ONNX file.
func findGraph(c Config) (string, error) {
	names := []string{"model.onnx", "onnx/model.onnx"}
	if c.Graph != "" {
		names = []string{c.Graph}
	}
	for _, name := range names {
		file := filepath.Join(c.Dir, filepath.FromSlash(name))
		if _, err := os.Stat(file); err == nil {
			return file, nil
		}
	}
	found, err := filepath.Glob(filepath.Join(c.Dir, "*.onnx"))
	if err != nil || c.Graph != "" || len(found) != 1 {
		return "", fmt.Errorf(
			"embedding model: %s has no %s; export the model to ONNX, or name the file",
			c.Dir,
			strings.Join(names, " or "),
		)
	}
	return found[0], nil
}

func readJSON(file string, into any, optional bool) error {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && optional {
		return nil
	}
	if err != nil {
		return fmt.Errorf("embedding model: %w", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("embedding model: %s: %w", file, err)
	}
	return nil
}
