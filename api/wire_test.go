package api_test

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mneme/mneme/api"
)

// The JSON of every input and result must stay the same, because existing histories and clients use it.
func TestWireShape(t *testing.T) {
	data, err := os.ReadFile("testdata/filled.json")
	require.NoError(t, err)
	var want map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &want))
	values := []any{&api.IngestResult{}, &api.Progress{}, &api.ResumeInput{}, &api.ReviewInput{}, &api.ReviewProgress{},
		&api.SweepInput{}, &api.SweepResult{}, &api.SyncIndexInput{}, &api.SyncIndexProgress{}, &api.SyncIndexResult{},
		&api.DriftInput{}, &api.DriftResult{}, &api.ReindexInput{}, &api.ReindexProgress{}, &api.ReindexResult{}}
	require.Len(t, want, len(values))
	for _, v := range values {
		name := reflect.TypeOf(v).Elem().Name()
		fill(reflect.ValueOf(v).Elem())
		got, err := json.Marshal(v)
		require.NoError(t, err)
		require.JSONEq(t, string(want[name]), string(got), name)

		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		require.NoError(t, json.Unmarshal(want[name], back))
		again, err := json.Marshal(back)
		require.NoError(t, err)
		require.JSONEq(t, string(want[name]), string(again), "%s read and written", name)
	}
}

// fill sets every field to a non-zero value.
func fill(v reflect.Value) {
	if !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	}
}
