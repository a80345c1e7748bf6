package config

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mneme/mneme/memory/policy"
)

// PolicyPoll is how often the rules file is checked.
const PolicyPoll = 3 * time.Second

// Policies holds the classification rules of a file and follows changes of the file. If a new version cannot be read,
// the previous one stays in force. It is safe for concurrent use.
type Policies struct {
	path    string
	log     *slog.Logger
	current atomic.Pointer[policy.Policy]

	mu      sync.Mutex // one reload at a time
	seen    [sha256.Size]byte
	problem error // why the current file is not in force; nil if it is
}

// LoadPolicies reads the rules file. Without a path there are no rules, now or later. If the file cannot be read or is
// invalid, the error names the rule and the field.
func LoadPolicies(path string, log *slog.Logger) (*Policies, error) {
	p := &Policies{path: path, log: log}
	if path == "" {
		return p, nil
	}
	data, err := readPolicy(path)
	if err != nil {
		return nil, fmt.Errorf("MNEME_POLICY_FILE: %w", err)
	}
	policy, err := policy.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("MNEME_POLICY_FILE: %w", err)
	}
	p.current.Store(policy)
	p.seen = sha256.Sum256(data)
	return p, nil
}

// Current returns the rules in force; nil when there are none.
func (p *Policies) Current() *policy.Policy { return p.current.Load() }

// Stale returns why the current file is not in force, or nil. The error names rules and fields and quotes nothing else
// from the file.
func (p *Policies) Stale() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

// Watch reloads the file at an interval until ctx ends, and at once when now delivers a signal. It reads the whole file
// each time, so that it sees a change even if size and time are the same.
func (p *Policies) Watch(ctx context.Context, every time.Duration, now <-chan os.Signal) {
	if p.path == "" {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-now:
		}
		p.Reload()
	}
}

// Reload reads the file, and reports whether other rules are in force now. A problem is logged once for each version of
// the file.
func (p *Policies) Reload() bool {
	if p.path == "" {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	data, err := readPolicy(p.path)
	if err != nil {
		p.keep(err)
		return false
	}
	sum := sha256.Sum256(data)
	unreadable := p.problem != nil && !isPolicyError(p.problem)
	if sum == p.seen && !unreadable {
		return false
	}
	p.seen = sum
	policy, err := policy.Parse(data)
	if err != nil {
		p.keep(err)
		return false
	}
	before := p.Current()
	p.problem = nil
	if before.Hash() == policy.Hash() { // the file is again the one in force
		p.log.Info("policy file is in force again", "policy", policy.Hash())
		return false
	}
	p.current.Store(policy)
	p.log.Info("policy reloaded", "policy", policy.Hash(), "before", before.Hash(), "rules", len(policy.Rules()))
	return true
}

// keep records why the rules in force are kept.
func (p *Policies) keep(err error) {
	if p.problem == nil || p.problem.Error() != err.Error() {
		p.log.Error("policy file cannot be used: the previous version stays in force", "policy",
			p.Current().Hash(), "error", err)
	}
	p.problem = err
}

func isPolicyError(err error) bool {
	var bad *policy.Error
	return errors.As(err, &bad)
}

// readPolicy reads a rules file up to its size limit.
func readPolicy(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("policy file: %w", bare(err))
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, policy.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("policy file: %w", bare(err))
	}
	return data, nil
}

// bare returns a file's error without its path, because readiness shows the error to unauthenticated callers.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
