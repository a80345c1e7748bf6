package config_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/internal/config"
	"github.com/mneme/mneme/memory/intake"
	"github.com/mneme/mneme/memory/policy"
	"github.com/mneme/mneme/schema"
)

const strict = "rules: [{name: strict, when: 'true', set: {sensitivity: high}}]\n"

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type rulesFile struct {
	*config.Policies
	t    *testing.T
	path string
	log  *lockedBuffer
}

func newRulesFile(t *testing.T, text string) *rulesFile {
	t.Helper()
	f := &rulesFile{t: t, path: filepath.Join(t.TempDir(), "policy.yaml"), log: &lockedBuffer{}}
	f.write(text)
	var err error
	f.Policies, err = config.LoadPolicies(f.path, slog.New(slog.NewTextHandler(f.log, nil)))
	require.NoError(t, err)
	return f
}

func (f *rulesFile) write(text string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(f.path, []byte(text), 0o600))
}

func level(p *policy.Policy) schema.Sensitivity {
	return intake.Admit(schema.Candidate{Content: "tea"}, schema.Principal{Tenant: "t", Agent: "a"}, "",
		p).Classification.Sensitivity
}

func TestNoFileNoRules(t *testing.T) {
	t.Parallel()
	p, err := config.LoadPolicies("", slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Nil(t, p.Current())
	require.False(t, p.Reload())
	require.NoError(t, p.Stale())
	p.Watch(t.Context(), time.Nanosecond, nil) // returns at once
}

func TestInvalidPolicyFilePreventsStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	_, err := config.LoadPolicies(path, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "MNEME_POLICY_FILE")
	require.NoError(t, os.WriteFile(path, []byte("rules: [{name: a, when: 'candidate.contnet', set: {pinned: true}}]"),
		0o600))
	_, err = config.LoadPolicies(path, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "MNEME_POLICY_FILE: policy: rules[0] (a).when")
}

func TestChangedPolicyFileIsLoaded(t *testing.T) {
	t.Parallel()
	f := newRulesFile(t, strict)
	first := f.Current()
	require.Equal(t, schema.SensitivityHigh, level(first))
	require.False(t, f.Reload(), "nothing has changed")
	require.Same(t, first, f.Current())

	f.write("rules: [{name: strict, when: 'true', set: {sensitivity: low }}]\n") // of the same length
	require.True(t, f.Reload())
	require.Equal(t, schema.SensitivityLow, level(f.Current()))
	require.Equal(t, schema.SensitivityHigh, level(first), "users of the old rules keep them")
	require.Contains(t, f.log.String(), f.Current().Hash())
}

func TestInvalidPolicyKeepsThePreviousOne(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*rulesFile){
		"invalid": func(f *rulesFile) {
			f.write("rules: [{name: oops, when: 'nonsense == 1', set: {pinned: true}}]")
		},
		"truncated": func(f *rulesFile) { f.write("") },
		"gone":      func(f *rulesFile) { require.NoError(f.t, os.Remove(f.path)) },
		"too large": func(f *rulesFile) { require.NoError(f.t, os.Truncate(f.path, policy.MaxBytes+1)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRulesFile(t, strict)
			good := f.Current()
			spoil(f)
			require.False(t, f.Reload())
			require.False(t, f.Reload())
			require.Same(t, good, f.Current())
			require.Error(t, f.Stale())
			require.NotContains(t, f.Stale().Error(), filepath.Dir(f.path))
			require.Equal(t, 1, bytes.Count([]byte(f.log.String()), []byte("cannot be used")),
				"logged once per version")
			if name == "invalid" {
				require.ErrorContains(t, f.Stale(), "rules[0] (oops).when")
			}
			f.write(strict)
			require.False(t, f.Reload(), "the same rules as before")
			require.NoError(t, f.Stale())
			f.write("rules: []\n")
			require.True(t, f.Reload())
			require.NoError(t, f.Stale())
		})
	}
}

// Readers continue while the file changes, breaks and is fixed.
func TestReadersWhileTheFileChanges(t *testing.T) {
	t.Parallel()
	f := newRulesFile(t, strict)
	ctx, cancel := context.WithCancel(t.Context())
	hangup := make(chan os.Signal)
	var wg sync.WaitGroup
	wg.Go(func() { f.Watch(ctx, time.Millisecond, hangup) })
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				require.Contains(t, []schema.Sensitivity{"high", "medium", "hyper"}, level(f.Current()))
				_ = f.Stale()
				time.Sleep(100 * time.Microsecond)
			}
		})
	}
	for i := range 30 {
		next := []string{"medium", "hyper", "broken"}[i%3]
		f.write(fmt.Sprintf("rules: [{name: r%d, when: 'true', set: {sensitivity: %s}}]", i, next))
		hangup <- os.Interrupt // received after the previous reload
		hangup <- os.Interrupt
		if next == "broken" {
			require.Error(t, f.Stale())
		} else {
			require.Equal(t, schema.Sensitivity(next), level(f.Current()))
		}
	}
	cancel()
	wg.Wait()
}
