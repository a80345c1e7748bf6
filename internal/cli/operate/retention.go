package operate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	mneme "github.com/mneme/mneme/client"
	"github.com/mneme/mneme/internal/cli/app"
	"github.com/mneme/mneme/memory/lifecycle"
	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/pg"
	"github.com/mneme/mneme/store/sweeping"
)

// NewRetention returns the command that sets how long data is kept, and purges expired data.
func NewRetention(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "retention", Short: "Set how long data is kept, and purge expired data",
		Long: `Set how long data is kept, and purge expired data.

Deleted memories can be recovered until their window ends. Then a purge removes them permanently, or
archives them, by the policy of their class. All other growing data has its own window.
A schedule purges every six hours.`})
	cmd.AddCommand(newRetentionList(a), newRetentionSet(a), newRetentionReset(a), newRetentionChanges(a),
		newRetentionPreview(a), newRetentionRun(a))
	return cmd
}

// RetentionList is the output of `retention list`.
type RetentionList struct {
	Tenant   string                   `json:"tenant"`
	Policies []schema.RetentionPolicy `json:"policies"`
}

func newRetentionList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "Show the tenant's policies: those that are set, and the defaults",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			rules, err := st.RetentionPolicies(ctx, a.Cfg.Principal.Tenant)
			if err != nil {
				return err
			}
			out := RetentionList{Tenant: a.Cfg.Principal.Tenant, Policies: inForce(rules)}
			return a.Print(out, out.text)
		},
	}
}

// inForce lists the stored policies, and after them the default of each domain. The one class of a world that the
// default exempts from decay has its own line.
func inForce(rules lifecycle.RetentionRules) []schema.RetentionPolicy {
	out := append([]schema.RetentionPolicy{}, rules...)
	add := func(p schema.RetentionPolicy) {
		for _, set := range rules {
			if set.Domain == p.Domain && set.Tier == p.Tier && set.Typology == p.Typology {
				return
			}
		}
		out = append(out, p)
	}
	for _, domain := range schema.RetentionDomains {
		if domain == schema.RetainOperations {
			add(rules.Keys()) // keys are kept as long as the longest of the data they protect
			continue
		}
		add(lifecycle.DefaultRetention(domain, schema.Any, schema.Any))
		if lasting := rules.For(domain, schema.TierPersistent,
			schema.TypologyProcedural); domain == schema.RetainWorld &&
			lasting.DecayExempt {
			lasting.Tier, lasting.Typology = schema.TierPersistent, schema.TypologyProcedural
			add(lasting)
		}
	}
	return out
}

func (l RetentionList) text(t *app.Text) {
	rows := make([][]string, len(l.Policies))
	for i, p := range l.Policies {
		by := "default"
		if !p.Default {
			by = fmt.Sprintf("%s: %s", p.UpdatedBy, p.Reason)
		}
		decays := "yes"
		if !p.Domain.OfMemories() {
			decays = "-"
		} else if p.DecayExempt {
			decays = "exempt"
		}
		rows[i] = []string{string(p.Domain), string(p.Tier), string(p.Typology), keepFor(p.KeepSeconds),
			string(p.OnExpiry), decays, by}
	}
	t.Table("DOMAIN TIER TYPOLOGY KEPT THEN DECAYS SET_BY", rows)
}

// keepFor formats a window for people.
func keepFor(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	switch {
	case seconds <= 0:
		return "without limit"
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	default:
		return d.String()
	}
}

// parseKeep reads a window: 30d, 36h, 90m, or forever.
func parseKeep(s string) (int64, error) {
	if s == "forever" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseInt(days, 10, 64)
		if err == nil && n > 0 && n <= schema.MaxDurationSeconds/86400 {
			return n * 86400, nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= time.Second {
		return int64(d / time.Second), nil
	}
	return 0, app.Invalid("keep", "must be a number of days such as 30d, a duration such as 36h, or forever")
}

// classFlags name the class that a policy is for.
type classFlags struct{ tier, typology, reason, actor string }

func (f *classFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.tier, "tier", schema.Any,
		"of memories of this tier: interaction, session, persistent, or any")
	cmd.Flags().StringVar(&f.typology, "typology", schema.Any,
		"of memories of this typology: episodic, semantic, procedural, or any")
	cmd.Flags().StringVar(&f.reason, "reason", "", "reason, kept in the audit (required)")
	cmd.Flags().StringVar(&f.actor, "actor", app.Operator(), "actor, kept in the audit")
}

func (f *classFlags) policy(domain string) schema.RetentionPolicy {
	return schema.RetentionPolicy{Domain: schema.RetentionDomain(domain), Tier: schema.Tier(f.tier),
		Typology: schema.Typology(f.typology),
		OnExpiry: schema.ExpiryPurge, UpdatedBy: f.actor, Reason: f.reason}
}

// RetentionSet is the output of `retention set` as JSON: the class, as with `reset`, and the related settings that were
// set too.
type RetentionSet struct {
	schema.RetentionPolicy
	Also []schema.RetentionPolicy `json:"also,omitempty"`
}

func newRetentionSet(a *app.App) *cobra.Command {
	var f classFlags
	var keep, then string
	var exempt bool
	cmd := &cobra.Command{
		Use:   "set DOMAIN",
		Short: "Set how long a class of data is kept, and what happens after that",
		Long: `Set how long a class of the tenant's data is kept, and what happens after that. DOMAIN is memory, world (memories
with a world_id), history, jobs_completed, jobs_dead, retrievals, ingest, forget_runs, events, operations or
artifacts; tier and typology narrow memory and world. Idempotency keys (operations) are kept at least as long as
deleted memories, ingest and jobs. The most specific policy decides. The change is audited: mneme retention changes.

A setting that is not given keeps its current value. If that value differs within the class, as for the lasting
procedures of a world, which decay does not remove, a policy is also set for each tier and typology that differs.

A shorter window can make much data expire at once: a purge that would remove more than half of the tenant's
data waits for an answer (mneme sweeps).`,
		Example: `  mneme retention set memory --typology episodic --keep 7d --reason "notes are cheap"
  mneme retention set history --keep 365d --reason "auditors ask for a year"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := f.policy(args[0])
			var err error
			if p.KeepSeconds, err = parseKeep(keep); err != nil {
				return err
			}
			var saysThen *schema.OnExpiry
			var saysExempt *bool
			// a valid value for the class, until the policy in force is known
			p.OnExpiry = lifecycle.DefaultRetention(p.Domain, p.Tier, p.Typology).OnExpiry
			if cmd.Flags().Changed("then") {
				p.OnExpiry = schema.OnExpiry(then)
				saysThen = &p.OnExpiry
			}
			if cmd.Flags().Changed("decay-exempt") {
				p.DecayExempt = exempt
				saysExempt = &exempt
			}
			if err := p.Validate(); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			out := RetentionList{Tenant: a.Cfg.Principal.Tenant}
			if out.Policies, err = st.SetRetention(ctx, out.Tenant, p, saysThen, saysExempt, time.Now()); err != nil {
				return err
			}
			last := len(out.Policies) - 1
			return a.Print(RetentionSet{RetentionPolicy: out.Policies[last], Also: out.Policies[:last]}, out.text)
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&keep, "keep", "", "time to keep it: 30d, 36h, or forever")
	cmd.Flags().StringVar(&then, "then", "",
		"action at the end: purge, or archive for memories (default: the current setting)")
	cmd.Flags().BoolVar(&exempt, "decay-exempt", false,
		"decay removes none of these memories, even with low salience (default: the current setting)")
	_ = cmd.MarkFlagRequired("keep")
	return cmd
}

func newRetentionReset(a *app.App) *cobra.Command {
	var f classFlags
	cmd := &cobra.Command{
		Use:   "reset DOMAIN",
		Short: "Return a class of data to its default policy",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p := f.policy(args[0])
			p.KeepSeconds, p.OnExpiry = int64(lifecycle.TombstoneWindow/time.Second), lifecycle.DefaultRetention(p.Domain,
				p.Tier, p.Typology).OnExpiry
			if err := p.Validate(); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			if err := st.ResetRetention(ctx, a.Cfg.Principal.Tenant, p, f.actor, f.reason, time.Now()); err != nil {
				return err
			}
			now := lifecycle.DefaultRetention(p.Domain, p.Tier, p.Typology)
			out := RetentionList{Tenant: a.Cfg.Principal.Tenant, Policies: []schema.RetentionPolicy{now}}
			return a.Print(now, out.text)
		},
	}
	f.register(cmd)
	return cmd
}

func newRetentionChanges(a *app.App) *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "changes",
		Short: "Show who changed the policies, when and why, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from := uuid.Nil
			if after != "" {
				var err error
				if from, err = app.ParseID("after", after); err != nil {
					return err
				}
			}
			if err := app.CheckLimit("limit", limit, pg.MaxPage); err != nil {
				return err
			}
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			changes, err := st.RetentionChanges(ctx, a.Cfg.Principal.Tenant, from, limit)
			if err != nil {
				return err
			}
			return a.Print(changes, func(t *app.Text) {
				rows := make([][]string, len(changes))
				says := func(p *schema.RetentionPolicy) string {
					if p == nil {
						return "default"
					}
					return strings.TrimSpace(keepFor(p.KeepSeconds) + ", " + string(p.OnExpiry) +
						map[bool]string{true: ", exempt"}[p.DecayExempt])
				}
				for i, c := range changes {
					rows[i] = []string{app.When(c.ChangedAt), string(c.Domain), string(c.Tier), string(c.Typology),
						says(c.Before), says(c.After), c.ChangedBy, c.Reason, c.ID}
				}
				t.Table("AT DOMAIN TIER TYPOLOGY BEFORE AFTER BY REASON ID", rows)
			})
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "id of the last change of the previous page")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of changes, up to 500")
	return cmd
}

func newRetentionPreview(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "preview",
		Short: "Show what a purge would remove now, without removing it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			out, err := st.PreviewPurge(ctx, a.Cfg.Principal.Tenant, a.Cfg.SweepShare, time.Now())
			if err != nil {
				return err
			}
			return a.Print(out, func(t *app.Text) {
				var rows [][]string
				for _, step := range lifecycle.PurgeSteps[1:] {
					rows = append(rows, []string{string(step), strconv.FormatInt(out.Would[step], 10)})
				}
				rows = append(rows, []string{"archived_for_good", strconv.FormatInt(out.Archived, 10)})
				t.Table("STEP WOULD_GO", rows)
				if out.Held != nil {
					t.Line("The purge would ask first (%s): %d of %d is more than its share (%.0f %%).",
						out.Held.Sweep, out.Held.WouldTake, out.Held.Stored, 100*out.Held.Share)
				}
			})
		},
	}
}

func newRetentionRun(a *app.App) *cobra.Command {
	return sweepCommand(a, "run", "Purge expired data now", mneme.StartRetentionPurge)
}

// decayOutlook is the output of `decay outlook`.
type decayOutlook struct {
	Tenant string `json:"tenant"`
	sweeping.DecayOutlook
}

// NewDecay returns the command that shows and removes faded memories.
func NewDecay(a *app.App) *cobra.Command {
	cmd := app.Group(&cobra.Command{Use: "decay", Short: "Show faded memories, and remove them",
		Long: `Show faded memories, and remove them. A memory falls due when its salience has faded to its threshold, or at
its maximum age. A sweep prunes it (mneme recover restores it), archives it or keeps it, by its deletion
policy and by the retention policy of its class. A schedule sweeps every hour.`})
	cmd.AddCommand(&cobra.Command{
		Use:   "outlook",
		Short: "Count the memories that are due, and those due within a day",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := a.OpenStore(cmd.Context())
			if err != nil {
				return err
			}
			ctx, cancel := a.Within(cmd.Context())
			defer cancel()
			out := decayOutlook{Tenant: a.Cfg.Principal.Tenant}
			if out.DecayOutlook, err = st.DecayOutlook(ctx, out.Tenant, time.Now()); err != nil {
				return err
			}
			return a.Print(out, func(t *app.Text) {
				t.Fields("due now", strconv.FormatInt(out.Due, 10), "due since", app.WhenSet(out.Oldest),
					"within a day", strconv.FormatInt(out.Soon, 10), "next", app.WhenSet(out.NextDue))
			})
		},
	}, sweepCommand(a, "run", "Remove faded memories now", mneme.StartDecaySweep))
	return cmd
}
