// Package config turns the environment into what the two programs need: settings, a Temporal client
// and a brain.
package config

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/mneme/mneme/inference"
	"github.com/mneme/mneme/inference/openai"
	"github.com/mneme/mneme/inference/rules"
	"github.com/mneme/mneme/memory"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/workflows"
)

// Config is everything that can be set. Each field names its variable in Load.
type Config struct {
	DatabaseURL   string
	MaxConns      int
	TaskQueue     string
	Namespace     string
	TemporalUI    string // base URL, for links in output; may be empty
	HealthAddress string

	Principal schema.Principal // defaults of the command line

	Brain       string // rules or openai
	Embedder    string // hash or openai
	OpenAI      openai.Config
	Concurrency int // model calls at once in one activity

	Policy     memory.WritePolicy
	PolicyFile string // classification rules; empty for none

	PayloadKey []byte // 32 bytes; empty leaves payloads in the clear
}

// Load reads the environment. Variables that are not set are looked up in the env file that
// `make up` writes for this checkout: .local/env, in the working directory, beside the program, or
// above either.
func Load() (Config, error) {
	loadStackEnv()
	e := reader{}
	c := Config{
		DatabaseURL:   e.text("DATABASE_URL", ""),
		MaxConns:      e.number("MNEME_DB_MAX_CONNS", 16),
		TaskQueue:     e.text("MNEME_TASK_QUEUE", workflows.TaskQueue),
		Namespace:     e.text("TEMPORAL_NAMESPACE", client.DefaultNamespace),
		TemporalUI:    e.text("TEMPORAL_UI_URL", ""),
		HealthAddress: e.text("MNEME_HEALTH_ADDR", "127.0.0.1:8085"),
		Principal: schema.Principal{
			Tenant: e.text("MNEME_TENANT", "default"), Agent: e.text("MNEME_AGENT", "default"), Project: e.text("MNEME_PROJECT", ""),
			Scope: e.text("MNEME_SCOPE", ""), PolicyGroup: e.text("MNEME_POLICY_GROUP", ""),
		},
		Brain:    e.choice("MNEME_BRAIN", "rules", "openai"),
		Embedder: e.choice("MNEME_EMBEDDER", "hash", "openai"),
		OpenAI: openai.Config{
			BaseURL: e.text("MNEME_OPENAI_BASE_URL", ""), APIKey: e.text("MNEME_OPENAI_API_KEY", ""),
			ChatModel: e.text("MNEME_OPENAI_CHAT_MODEL", ""), EmbeddingModel: e.text("MNEME_OPENAI_EMBEDDING_MODEL", ""),
			EmbeddingDimensions: e.number("MNEME_OPENAI_EMBEDDING_DIMENSIONS", 0),
			Timeout:             time.Duration(e.number("MNEME_OPENAI_TIMEOUT_SECONDS", 0)) * time.Second,
		},
		Concurrency: e.number("MNEME_MODEL_CONCURRENCY", 4),
		Policy: memory.WritePolicy{
			Mode:              schema.WriteMode(e.choice("MNEME_MODE", string(schema.ModeControlled), string(schema.ModeFrozen), string(schema.ModeShadow))),
			AllowUpdateDelete: e.flag("MNEME_ALLOW_UPDATE_DELETE"),
			MinFactConfidence: e.fraction("MNEME_MIN_FACT_CONFIDENCE", memory.DefaultMinFactConfidence),
		},
		PolicyFile: e.text("MNEME_POLICY_FILE", ""),
		PayloadKey: e.key("MNEME_PAYLOAD_KEY"),
	}
	return c, e.err()
}

// NewBrain builds the intelligence that the configuration names.
func (c Config) NewBrain() (inference.Brain, error) {
	brain := rules.New()
	if c.Brain == "rules" && c.Embedder == "hash" {
		return brain, nil
	}
	if c.Brain == "openai" && c.OpenAI.ChatModel == "" {
		return inference.Brain{}, errors.New("MNEME_OPENAI_CHAT_MODEL: is required when MNEME_BRAIN is openai")
	}
	if c.Embedder == "openai" && c.OpenAI.EmbeddingModel == "" {
		return inference.Brain{}, errors.New("MNEME_OPENAI_EMBEDDING_MODEL: is required when MNEME_EMBEDDER is openai")
	}
	remote, err := openai.New(c.OpenAI)
	if err != nil {
		return inference.Brain{}, err
	}
	if c.Brain == "openai" {
		brain.Extractor, brain.Decider = remote.Extractor, remote.Decider
	}
	if c.Embedder == "openai" {
		brain.Embedder = remote.Embedder
	}
	return brain, nil
}

// DialTemporal connects with the settings of Temporal's own variables and files (TEMPORAL_ADDRESS,
// TEMPORAL_NAMESPACE, TEMPORAL_TLS_…). With a payload key, payloads and failure messages are
// encrypted before they leave the process.
func (c Config) DialTemporal(ctx context.Context, log *slog.Logger) (client.Client, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, fmt.Errorf("temporal settings: %w", err)
	}
	options.Logger = tlog.NewStructuredLogger(log)
	if err := Encrypt(&options, c.PayloadKey); err != nil {
		return nil, err
	}
	dialed, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("reach Temporal at %s: %w", options.HostPort, err)
	}
	return dialed, nil
}

// Encrypt makes a client encrypt its payloads with the key; an empty key changes nothing.
func Encrypt(options *client.Options, key []byte) error {
	if len(key) == 0 {
		return nil
	}
	codec, err := newEncryptingCodec(key)
	if err != nil {
		return err
	}
	options.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: options.DataConverter, EncodeCommonAttributes: true,
	})
	return nil
}

// loadStackEnv sets what the nearest .local/env says and the environment does not.
func loadStackEnv() {
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, dir := range starts {
		for {
			file, err := os.Open(filepath.Join(dir, ".local", "env"))
			if err == nil {
				setMissing(file)
				_ = file.Close()
				return
			}
			if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
				break
			}
			dir = filepath.Dir(dir)
		}
	}
}

func setMissing(file fs.File) {
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), "=")
		if _, set := os.LookupEnv(key); ok && !set {
			_ = os.Setenv(key, value)
		}
	}
}

// reader reads variables and collects what is wrong with them.
type reader struct{ problems []string }

func (r *reader) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return errors.New("configuration: " + strings.Join(r.problems, "; "))
}

func (r *reader) text(name, fallback string) string {
	if v, ok := os.LookupEnv(name); ok && v != "" {
		return v
	}
	return fallback
}

func (r *reader) number(name string, fallback int) int {
	v := os.Getenv(name)
	if v == "" {
		return fallback
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		r.problems = append(r.problems, name+" must be a whole number, 0 or more")
	}
	return n
}

func (r *reader) fraction(name string, fallback float64) float64 {
	v := os.Getenv(name)
	if v == "" {
		return fallback
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		r.problems = append(r.problems, name+" must be a number between 0 and 1")
	}
	return f
}

func (r *reader) flag(name string) bool {
	v := os.Getenv(name)
	if v == "" {
		return false
	}
	b, err := strconv.ParseBool(v)
	if err != nil {
		r.problems = append(r.problems, name+" must be true or false")
	}
	return b
}

// choice reads one of the given values; the first is the default.
func (r *reader) choice(name string, values ...string) string {
	v := os.Getenv(name)
	if v == "" {
		return values[0]
	}
	for _, allowed := range values {
		if v == allowed {
			return v
		}
	}
	r.problems = append(r.problems, name+" must be one of "+strings.Join(values, ", "))
	return values[0]
}

// key reads 32 bytes in base64.
func (r *reader) key(name string) []byte {
	v := os.Getenv(name)
	if v == "" {
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(v)
	if err != nil || len(key) != 32 {
		r.problems = append(r.problems, name+" must be 32 bytes in base64")
		return nil
	}
	return key
}
