// Package intake decides how a candidate is admitted: its normal form, its classification under the policy, what an
// extraction of it may hold, and what becomes of one that is too large.
package intake
