// Package intake decides how a candidate is admitted: its normal form, its classification under the policy, the limits
// of its extraction, and the handling of oversized candidates. It stores nothing. What happens to the facts that are
// extracted from a candidate is decided in memory/proposals.
package intake
