// Package flow has what all workflows share: time limits and retry policies, the form of histories, strict decoding of
// requests and the refusal of updates. It knows no workflow. A limit that only one workflow has is here too, so that
// one file lists them all.
package flow
