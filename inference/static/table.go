package static

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Limits of a table.
const (
	maxFileBytes   = 1 << 30
	maxHeaderBytes = 16 << 20
	maxDimensions  = 2_000 // the limit of the vector index
)

// table is a vector for each token: row(token) · weights[token].
type table struct {
	dimensions int
	rows       []float32
	weights    []float32 // of tokens; nil if all are 1
	mapping    []int32   // from tokens to rows; nil if they are the same
}

// tensor is one entry of a safetensors file.
type tensor struct {
	name  string
	DType string
	Shape []int
	Data  [2]int `json:"data_offsets"`
	raw   []byte
}

// readTable reads a safetensors file with one table that has a row for each token. It may also have weights of tokens
// and, if tokens share rows, a mapping of tokens to rows, as the tables of model2vec have. Errors name the problem in
// the file.
func readTable(file []byte, tokens int) (*table, error) {
	tensors, err := readTensors(file)
	if err != nil {
		return nil, err
	}
	var t table
	rows := -1
	for _, x := range tensors {
		switch {
		case len(x.Shape) == 2 && rows < 0:
			rows, t.dimensions = x.Shape[0], x.Shape[1]
			if t.dimensions < 1 || t.dimensions > maxDimensions {
				return nil, fmt.Errorf(
					"has vectors of %d dimensions in %q; 1 to %d are supported",
					t.dimensions,
					x.name,
					maxDimensions,
				)
			}
			t.rows, err = x.floats()
		case len(x.Shape) == 1 && x.name == "weights":
			t.weights, err = x.floats()
		case len(x.Shape) == 1 && x.name == "mapping":
			t.mapping, err = x.integers()
		default:
			err = fmt.Errorf(
				"has %q of shape %v: one table, and weights and a mapping of tokens, are all that is supported",
				x.name,
				x.Shape,
			)
		}
		if err != nil {
			return nil, err
		}
	}
	if rows < 0 {
		return nil, errors.New("has no table of vectors")
	}
	if t.weights != nil && len(t.weights) < tokens {
		return nil, fmt.Errorf("has %d weights for %d tokens of the tokenizer", len(t.weights), tokens)
	}
	if t.mapping == nil && rows < tokens {
		return nil, fmt.Errorf("has %d rows for %d tokens of the tokenizer", rows, tokens)
	}
	if t.mapping != nil && len(t.mapping) < tokens {
		return nil, fmt.Errorf("has a mapping of %d tokens, and the tokenizer has %d", len(t.mapping), tokens)
	}
	for token, row := range t.mapping {
		if row < 0 || int(row) >= rows {
			return nil, fmt.Errorf("maps token %d to row %d of %d", token, row, rows)
		}
	}
	return &t, nil
}

// readTensors reads the header of a safetensors file, and finds the bytes of each tensor.
func readTensors(file []byte) ([]tensor, error) {
	if len(file) < 8 {
		return nil, errors.New("is truncated: it has no header")
	}
	length := binary.LittleEndian.Uint64(file)
	if length > maxHeaderBytes {
		return nil, fmt.Errorf("has a header of %d bytes: it is not in the safetensors format", length)
	}
	header, data := file[8:], []byte(nil)
	if uint64(len(header)) < length {
		return nil, errors.New("is truncated: its header is not complete")
	}
	header, data = header[:length], header[length:]
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(header, &entries); err != nil {
		return nil, fmt.Errorf("has a header that is not JSON: %w", err)
	}
	delete(entries, "__metadata__")
	var out []tensor
	for name, raw := range entries {
		x := tensor{name: name}
		if err := json.Unmarshal(raw, &x); err != nil {
			return nil, fmt.Errorf("describes %q in a way that is not understood: %w", name, err)
		}
		if x.Data[0] < 0 || x.Data[1] < x.Data[0] {
			return nil, fmt.Errorf("has data_offsets %v for %q", x.Data, name)
		}
		if x.Data[1] > len(data) {
			return nil, fmt.Errorf(
				"is truncated: %q ends at byte %d of the data, which has %d",
				name,
				x.Data[1],
				len(data),
			)
		}
		x.raw = data[x.Data[0]:x.Data[1]]
		count := 1
		for _, n := range x.Shape {
			if n < 0 || n > maxFileBytes || count > maxFileBytes {
				return nil, fmt.Errorf("has shape %v for %q", x.Shape, name)
			}
			count *= n
		}
		width, ok := widths[x.DType]
		if !ok {
			return nil, fmt.Errorf(
				"has dtype %s for %q; supported are F32, F16, BF16, I8, I32 and I64",
				x.DType,
				name,
			)
		}
		if len(x.raw) != count*width {
			return nil, fmt.Errorf(
				"has %d bytes for %q, and shape %v of %s takes %d",
				len(x.raw),
				name,
				x.Shape,
				x.DType,
				count*width,
			)
		}
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b tensor) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

// widths has the size in bytes of a value by dtype.
var widths = map[string]int{"F32": 4, "F16": 2, "BF16": 2, "I8": 1, "I32": 4, "I64": 8}

// floats returns the values of a tensor of real numbers. The scale of an I8 table does not matter, as vectors are
// scaled to length one.
func (x tensor) floats() ([]float32, error) {
	out := make([]float32, len(x.raw)/widths[x.DType])
	for i := range out {
		switch x.DType {
		case "F32":
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(x.raw[4*i:]))
		case "F16":
			out[i] = half(binary.LittleEndian.Uint16(x.raw[2*i:]))
		case "BF16":
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(x.raw[2*i:])) << 16)
		case "I8":
			out[i] = float32(int8(x.raw[i]))
		default:
			return nil, fmt.Errorf("has dtype %s for %q; supported are F32, F16, BF16 and I8", x.DType, x.name)
		}
		if f := float64(out[i]); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("has a value in %q that is no number", x.name)
		}
	}
	return out, nil
}

// integers returns the values of a tensor of integers.
func (x tensor) integers() ([]int32, error) {
	out := make([]int32, len(x.raw)/widths[x.DType])
	for i := range out {
		var v int64
		switch x.DType {
		case "I32":
			v = int64(int32(binary.LittleEndian.Uint32(x.raw[4*i:])))
		case "I64":
			v = int64(binary.LittleEndian.Uint64(x.raw[8*i:]))
		default:
			return nil, fmt.Errorf("has dtype %s for %q; supported are I32 and I64", x.DType, x.name)
		}
		if v < math.MinInt32 || v > math.MaxInt32 {
			return nil, fmt.Errorf("has the value %d in %q", v, x.name)
		}
		out[i] = int32(v)
	}
	return out, nil
}

// half widens a number of 16 bits (IEEE 754 binary16).
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch exponent {
	case 0: // zero, or subnormal: fraction · 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	case 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// add adds the vector of a token to a sum. Each product is rounded separately, so that the sum is the same on every
// machine.
func (t *table) add(sum []float64, token int32) {
	row, weight := int(token), 1.0
	if t.mapping != nil {
		row = int(t.mapping[token])
	}
	if t.weights != nil {
		weight = float64(t.weights[token])
	}
	for i, v := range t.rows[row*t.dimensions : (row+1)*t.dimensions] {
		sum[i] += float64(weight * float64(v))
	}
}
