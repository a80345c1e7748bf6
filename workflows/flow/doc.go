// Package flow has what all workflows share: time limits and retry policies, the form of histories, strict decoding of
// requests and the refusal of updates. It contains no workflow. Limits of a single workflow are here too, so that one
// file lists all limits.
package flow
