package local

import (
	"io"
	"regexp"
)

// Config selects the model and how it is used. Empty fields follow the model's own files.
type Config struct {
	Dir string // the model's directory; see describe for its layout
	// Published name, such as intfloat/e5-small-v2, with @revision if wanted; downloaded when Dir is empty.
	Model         string
	Graph         string // the ONNX file within the directory, with slashes; empty for model.onnx or onnx/model.onnx
	Pooling       string // mean or cls
	QueryPrefix   string // put before every question; "none" for no prefix
	PassagePrefix string // put before every other text; "none" for no prefix

	CacheDir string    // where downloads go; empty for mneme/models in the user's cache directory
	Endpoint string    // the model hub; empty for the downloading library's default (HF_ENDPOINT)
	Progress io.Writer // receives the progress of a download; nil for no reports
}

// names matches the names that Model returns.
var names = regexp.MustCompile(`^.+:(?:` + poolMean + `|` + poolCLS + `|` + poolNone + `):[0-9a-f]{8}$`)

// Named reports whether a model's name has this package's form. Such a name is not known to any service.
func Named(model string) bool { return names.MatchString(model) }
