// Package intake decides how a candidate is admitted: its normal form, its classification under the policy, the
// limits of its extraction, and the handling of oversized candidates.
package intake
