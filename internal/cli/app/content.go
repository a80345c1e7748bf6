package app

import (
	"fmt"
	"io"
	"strconv"

	"github.com/mneme/mneme/schema"
)

// countedInput is how many bytes of a too long content are read, to report its length.
const countedInput = 1 << 30

// ReadContent reads a content from standard input. The error for a content that is too long has its actual size.
func ReadContent(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, schema.MaxContentBytes+1))
	if err == nil && len(data) > schema.MaxContentBytes {
		rest, err := io.Copy(io.Discard, io.LimitReader(in, countedInput))
		got := strconv.FormatInt(int64(len(data))+rest, 10)
		if err != nil || rest == countedInput {
			got = "more than " + got
		}
		return "", Invalid("content", "must be at most %d bytes, got %s", schema.MaxContentBytes, got)
	}
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return string(data), nil
}
