package openai

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mneme/mneme/inference"
)

// temporaryError is a failure that may pass. It wraps nothing; see the package comment.
type temporaryError string

// Error implements error.
func (e temporaryError) Error() string { return "model endpoint failed: " + string(e) }

// refusal is an endpoint's answer with an error status.
type refusal struct {
	status int
	header http.Header
	body   string // lower case; for matching only, never shown
	labels []string
}

// maxErrorBody is how much of an error body is read, in bytes.
const maxErrorBody = 64 << 10

func readRefusal(res *http.Response) refusal {
	failure := refusal{status: res.StatusCode, header: res.Header}
	if res.Body != nil {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		failure.read(body)
	}
	return failure
}

// embeddedError reads the error that some gateways send with status 200 in place of choices.
func embeddedError(raw string, choices int) (refusal, bool) {
	if choices > 0 || raw == "" || raw == "null" {
		return refusal{}, false
	}
	failure := refusal{status: http.StatusOK}
	failure.read([]byte(`{"error":` + raw + `}`))
	return failure, true
}

// read reads the type and code from the usual forms: {"error": {…}}, {"error": "…"} and, in older vLLM, the fields at
// the top level.
func (failure *refusal) read(body []byte) {
	failure.body = strings.ToLower(string(body))
	type labels struct {
		Type json.RawMessage `json:"type"`
		Code json.RawMessage `json:"code"`
	}
	var top struct {
		labels
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &top) != nil {
		return
	}
	var inner labels
	_ = json.Unmarshal(top.Error, &inner)
	for _, raw := range []json.RawMessage{inner.Type, top.Type, inner.Code, top.Code} {
		label := string(bytes.Trim(raw, `"`))
		if isLabel(label) {
			failure.labels = append(failure.labels, label)
		}
	}
}

// isLabel reports whether s is an identifier, such as invalid_request_error. Prose is not: it may
// quote content.
func isLabel(s string) bool {
	const longest = 48
	if s == "" || len(s) > longest || s == "null" {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// badRequest reports whether the endpoint rejected the request as invalid.
func (failure refusal) badRequest() bool {
	return failure.status == http.StatusBadRequest || failure.status == http.StatusUnprocessableEntity
}

// about reports whether the endpoint's answer mentions one of the words.
func (failure refusal) about(words ...string) bool {
	for _, w := range words {
		if strings.Contains(failure.body, w) {
			return true
		}
	}
	return false
}

// errorOf converts an endpoint's refusal to an error.
func (e endpoint) errorOf(failure refusal) error {
	reason := "status " + strconv.Itoa(failure.status)
	for _, label := range failure.labels {
		if label != strconv.Itoa(failure.status) && (e.key == "" || !strings.Contains(label, e.key)) {
			reason += ", " + label
		}
	}
	wait, told := retryAfter(failure.header, time.Now())
	switch {
	case failure.status == http.StatusTooManyRequests, failure.status == http.StatusServiceUnavailable && told:
		return &inference.RateLimitError{RetryAfter: wait}
	case permanent(failure.status):
		return &inference.PermanentError{Reason: reason}
	default:
		return temporaryError(reason)
	}
}

// permanent reports whether the same request would be refused again: every 4xx except those about time and order.
// Payment (402) and quota problems are permanent too, because only an operator can solve them.
func permanent(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusLocked,
		http.StatusFailedDependency, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// maxRetryAfter bounds the delay that an endpoint may ask for.
const maxRetryAfter = 24 * time.Hour

// retryAfter returns the delay that an endpoint asks for, and whether it does: retry-after-ms, or Retry-After in
// seconds or as an HTTP date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	for _, v := range []struct {
		text string
		unit time.Duration
	}{{h.Get("Retry-After-Ms"), time.Millisecond}, {h.Get("Retry-After"), time.Second}} {
		text := strings.TrimSpace(v.text)
		if n, err := strconv.ParseFloat(text, 64); (err == nil || errors.Is(err, strconv.ErrRange)) && !math.IsNaN(n) &&
			n >= 0 {
			if n >= float64(maxRetryAfter/v.unit) {
				return maxRetryAfter, true
			}
			return time.Duration(n * float64(v.unit)), true
		}
		if at, err := http.ParseTime(text); err == nil {
			return min(max(0, at.Sub(now)), maxRetryAfter), true
		}
	}
	return 0, false
}

// describe returns a text for a failure to reach the endpoint. It shows only errors that contain nothing but addresses
// and reasons, because others may quote the server's answer.
func describe(err error) string {
	var (
		op   *net.OpError
		dns  *net.DNSError
		cert *tls.CertificateVerificationError
		host x509.HostnameError
	)
	switch {
	case errors.As(err, &dns):
		return "its name was not resolved: " + dns.Name
	case errors.As(err, &cert), errors.As(err, &host):
		return "its TLS certificate was not accepted"
	case errors.As(err, &op):
		return op.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it closed the connection"
	default:
		return "no usable HTTP response"
	}
}
