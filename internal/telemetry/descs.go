package telemetry

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mneme/mneme/schema"
	"github.com/mneme/mneme/store/admin"
)

// Time windows of numbers, as labels.
const (
	windowDay  = "1d"
	windowWeek = "7d"
)

// Label values that always exist, so that something that has not happened is 0 and not missing.
var (
	memoryTypes = []schema.MemoryType{schema.TypeEpisodic, schema.TypeWorking, schema.TypeSemantic,
		schema.TypeCompetence, schema.TypePlanGraph}
	procedureTypes = []schema.MemoryType{schema.TypeCompetence, schema.TypePlanGraph}
	verdicts       = []string{"succeeded", "partly", "failed", "unused"}
	outcomes       = []string{"success", "failure"}
	sweeps         = []schema.Sweep{schema.SweepDecay, schema.SweepRetention, schema.SweepHistory}
	actions        = []schema.AuditAction{schema.AuditCreate, schema.AuditRevise, schema.AuditFork,
		schema.AuditMerge, schema.AuditDelete, schema.AuditRecover,
		schema.AuditContest, schema.AuditResolve, schema.AuditRetract, schema.AuditModify, schema.AuditErase,
		schema.AuditArchive, schema.AuditKeep,
		schema.AuditPurge, schema.AuditReinforce, schema.AuditPenalise}
	revisions = []schema.AuditAction{schema.AuditRevise, schema.AuditFork, schema.AuditMerge,
		schema.AuditContest, schema.AuditResolve, schema.AuditRetract}
)

// systemDescs are the series over all tenants.
type systemDescs struct {
	waiting, oldestWaiting, dead        *prometheus.Desc
	indexPending, indexParked, indexLag *prometheus.Desc
	held, heldFor                       *prometheus.Desc
	sessions, quietest, events          *prometheus.Desc
	metricsAge, metricsLap              *prometheus.Desc
	metricsTenants                      *prometheus.Desc
}

// tenantDescs are the series of a tenant: the eight of document 004 §14 and §15.10.
type tenantDescs struct {
	memories, contested                  *prometheus.Desc // growth
	salience, salienceMean               *prometheus.Desc // distribution
	retrievals, degraded, judged, useful *prometheus.Desc // usefulness
	verdicts                             *prometheus.Desc
	outcomes, reused                     *prometheus.Desc // competence success, plan reuse
	changes, revisions, toReview         *prometheus.Desc // contradictions and revisions
	due, overdue, swept, dead            *prometheus.Desc // decay
}

func (c *collector) describe() {
	c.system = systemDescs{
		waiting:       desc("mneme_jobs_waiting", "Jobs of the pipeline that have not ended, over all tenants."),
		oldestWaiting: desc("mneme_jobs_oldest_waiting_seconds", "Age of the oldest of them; 0 when there is none."),
		dead: desc("mneme_jobs_dead",
			"Jobs that failed permanently and can be retried, over all tenants."),
		indexPending: desc("mneme_index_pending_changes",
			"Changes that are not in the vector index yet, over all tenants."),
		indexParked: desc("mneme_index_parked_changes",
			"Changes that could not be written to the vector index and are no longer retried."),
		indexLag: desc("mneme_index_lag_seconds",
			"Age of the oldest change that is not in the vector index yet; 0 when there is none."),
		held: desc("mneme_sweeps_held",
			"Tenants whose sweep would remove too much and waits for an answer.", "sweep"),
		heldFor: desc("mneme_sweep_held_seconds", "How long the first of them has waited; 0 when there is none.",
			"sweep"),
		sessions: desc("mneme_sessions_open", "Sessions of agents that are open, over all tenants."),
		quietest: desc("mneme_session_oldest_idle_seconds",
			"Longest time that an open session has had no event; 0 when none is open."),
		events: desc("mneme_ledger_events", "Events in the ledger, over all tenants, as Postgres estimates them."),
		metricsAge: desc("mneme_metrics_age_seconds",
			"Age of the oldest of the numbers read from Postgres; of a tenant that could not be "+
				"read yet, how long it has been known; without any, how long the process has had none."),
		metricsLap: desc("mneme_metrics_lap_seconds",
			"How long it takes to read every tenant once, at the pace that is kept. With very "+
				"many tenants their numbers are that old."),
		metricsTenants: desc("mneme_metrics_tenants", "Tenants whose numbers have been read."),
	}
	of := func(name, help string, labels ...string) *prometheus.Desc {
		if c.Tenants > 0 {
			labels = append([]string{"tenant"}, labels...)
		}
		return desc(name, help, labels...)
	}
	c.tenant = tenantDescs{
		memories: of("mneme_memories",
			"Live memories by type. Of a tenant with more than 2,000 types are taken from a sample, "+
				"but for competence and plan_graph.", "type"),
		contested: of("mneme_memories_contested",
			"Memories that contradict each other until it is resolved, both sides."),
		salience: of("mneme_salience_memories",
			"Live memories with a current salience of at most le. Of a tenant with more than 2,000 "+
				"they are taken from a sample.", "le"),
		salienceMean: of("mneme_salience_mean", "Current mean salience of the live memories, in [0,1]."),
		retrievals:   of("mneme_retrievals", "Recalls in the window that ends now.", "window"),
		degraded:     of("mneme_retrievals_degraded", "Those of them that omitted a channel or stage.", "window"),
		judged:       of("mneme_retrievals_judged", "Retrievals with feedback on an item in the window.", "window"),
		useful: of("mneme_retrievals_useful",
			"Retrievals with feedback that an item helped, at least partly, in the window.", "window"),
		verdicts: of("mneme_retrieval_verdicts",
			"Items of retrievals, by the feedback given on them in the window.", "verdict", "window"),
		outcomes: of("mneme_procedure_outcomes",
			"Uses of procedures (competence) and plans (plan_graph) in the window, by reported "+
				"outcome.",
			"type", "outcome", "window"),
		reused: of("mneme_retrievals_with_procedure",
			"Retrievals in the window that returned a procedure (competence) or a plan (plan_graph).", "type",
			"window"),
		changes: of("mneme_memory_changes",
			"Entries in the history of memories in the window, by action: one for each changed memory.",
			"action", "window"),
		revisions: of("mneme_memory_revisions",
			"Revisions in the window, by action: one for each operation, or proposal of the pipeline, "+
				"that made it, no matter how many memories it changes.", "action", "window"),
		toReview: of("mneme_proposals_to_review",
			"Proposals that wait for a person, by whether they would contradict what is known.", "contradiction"),
		due: of("mneme_decay_due_memories",
			"Memories that are due and that no sweep has handled yet; counting ends at 10,000 a tenant."),
		overdue: of("mneme_decay_overdue_seconds", "How long the first of them has been due; 0 when there is none."),
		swept: of("mneme_swept_items", "Memories and rows handled by sweeps of the window, by sweep and outcome.",
			"sweep", "done", "window"),
		dead: of("mneme_tenant_jobs_dead", "Dead jobs of the tenant."),
	}
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

func (c *collector) descs() []*prometheus.Desc {
	s, t := c.system, c.tenant
	return []*prometheus.Desc{s.waiting, s.oldestWaiting, s.dead, s.indexPending, s.indexParked,
		s.indexLag, s.held, s.heldFor, s.sessions, s.quietest, s.events, s.metricsAge, s.metricsLap, s.metricsTenants,
		t.memories, t.contested, t.salience, t.salienceMean, t.retrievals, t.degraded, t.judged,
		t.useful, t.verdicts, t.outcomes, t.reused, t.changes,
		t.revisions, t.toReview, t.due, t.overdue, t.swept, t.dead}
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

// ageOf returns the time since at; 0 if there is none or if it is in the future.
func ageOf(at *time.Time, now time.Time) float64 {
	if at == nil {
		return 0
	}
	return max(0, now.Sub(*at).Seconds())
}

func (d systemDescs) emit(ch chan<- prometheus.Metric, m admin.SystemMetrics, now time.Time) {
	gauge(ch, d.waiting, float64(m.Jobs.Waiting))
	gauge(ch, d.oldestWaiting, ageOf(m.Jobs.Oldest, now))
	gauge(ch, d.dead, float64(m.Jobs.Dead))
	gauge(ch, d.indexPending, float64(m.Index.Pending))
	gauge(ch, d.indexParked, float64(m.Index.Parked))
	gauge(ch, d.indexLag, ageOf(m.Index.Oldest, now))
	gauge(ch, d.sessions, float64(m.Ledger.OpenSessions))
	gauge(ch, d.quietest, ageOf(m.Ledger.Oldest, now))
	gauge(ch, d.events, float64(m.Ledger.Events))
	for _, question := range sweeps {
		sweep := string(question)
		held, any := m.Holds[sweep]
		gauge(ch, d.held, float64(held.Tenants), sweep)
		if any {
			gauge(ch, d.heldFor, ageOf(&held.Since, now), sweep)
		} else {
			gauge(ch, d.heldFor, 0, sweep)
		}
	}
}

func (d systemDescs) age(ch chan<- prometheus.Metric, age, lap time.Duration, tenants int) {
	gauge(ch, d.metricsAge, max(0, age.Seconds()))
	gauge(ch, d.metricsLap, lap.Seconds())
	gauge(ch, d.metricsTenants, float64(tenants))
}

// emit sends the series of a tenant. Its label, if it has one, comes first.
func (d tenantDescs) emit(ch chan<- prometheus.Metric, tenant []string, m admin.TenantMetrics, now time.Time) {
	one := func(desc *prometheus.Desc, value float64, labels ...string) {
		gauge(ch, desc, value, append(append([]string{}, tenant...), labels...)...)
	}
	both := func(desc *prometheus.Desc, n admin.Spans, labels ...string) {
		one(desc, float64(n.Day), append(labels, windowDay)...)
		one(desc, float64(n.Week), append(labels, windowWeek)...)
	}
	for _, t := range memoryTypes {
		one(d.memories, float64(m.ByType[t]), string(t))
	}
	one(d.contested, float64(m.Contested))
	total := int64(0)
	for i, n := range m.Salience {
		total += n
		one(d.salience, float64(total), strconv.FormatFloat(float64(i+1)/admin.SalienceBuckets, 'g', -1, 64))
	}
	one(d.salience, float64(total), "+Inf") // needed for quantiles
	if m.Live > 0 {
		one(d.salienceMean, m.SalienceSum/float64(m.Live))
	}
	both(d.retrievals, m.Retrievals)
	one(d.degraded, float64(m.Degraded.Day), windowDay)
	both(d.judged, m.Judged)
	both(d.useful, m.Useful)
	for _, verdict := range verdicts {
		both(d.verdicts, m.Verdicts[verdict], verdict)
	}
	for _, t := range procedureTypes {
		one(d.reused, float64(m.Reused[t].Day), string(t), windowDay)
		for _, outcome := range outcomes {
			both(d.outcomes, m.Outcomes[admin.ProcedureOutcome{Type: t, Outcome: outcome}], string(t), outcome)
		}
	}
	for _, action := range actions {
		one(d.changes, float64(m.Changes[action]), string(action), windowDay)
	}
	for _, action := range revisions {
		one(d.revisions, float64(m.Revisions[action]), string(action), windowDay)
	}
	one(d.toReview, float64(m.ToReview-m.Disputed), "false")
	one(d.toReview, float64(m.Disputed), "true")
	one(d.due, float64(m.Due))
	one(d.overdue, ageOf(m.OldestDue, now))
	for of, n := range m.Swept {
		one(d.swept, float64(n), of.Sweep, of.Done, windowDay)
	}
	one(d.dead, float64(m.DeadJobs))
}
