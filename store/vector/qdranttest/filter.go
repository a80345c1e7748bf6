package qdranttest

import (
	"slices"
	"strings"

	qd "github.com/qdrant/go-client/qdrant"
)

// checkFilter returns an error for any unimplemented condition in a filter. Ignoring the condition would admit points
// that it excludes.
func checkFilter(f *qd.Filter) error {
	if f == nil {
		return nil
	}
	conditions := slices.Concat(f.GetMust(), f.GetShould(), f.GetMustNot(), f.GetMinShould().GetConditions())
	for _, c := range conditions {
		switch one := c.GetConditionOneOf().(type) {
		case *qd.Condition_Field:
			if err := checkField(one.Field); err != nil {
				return err
			}
		case *qd.Condition_Filter:
			if err := checkFilter(one.Filter); err != nil {
				return err
			}
		case *qd.Condition_HasId:
			for _, id := range one.HasId.GetHasId() {
				if _, err := keyOf(id); err != nil {
					return err
				}
			}
		case *qd.Condition_IsEmpty, *qd.Condition_IsNull, *qd.Condition_HasVector:
		case nil:
			return unimplemented("an empty condition") // which a real server ignores
		default:
			return unimplemented("a nested condition")
		}
	}
	return nil
}

func checkField(f *qd.FieldCondition) error {
	if strings.ContainsAny(f.GetKey(), ".[]") {
		return unimplemented("a payload key with a path")
	}
	if f.GetGeoBoundingBox() != nil || f.GetGeoRadius() != nil || f.GetGeoPolygon() != nil ||
		f.GetDatetimeRange() != nil {
		return unimplemented("a condition on places or dates")
	}
	if f.GetMatch() == nil && f.GetRange() == nil && f.GetValuesCount() == nil && f.IsEmpty == nil && f.IsNull == nil {
		return invalid("Malformed FieldCondition type")
	}
	switch f.GetMatch().GetMatchValue().(type) {
	case *qd.Match_Text, *qd.Match_Phrase, *qd.Match_TextAny:
		return unimplemented("a full-text condition")
	}
	return nil
}

// matches reports whether a point matches a filter. A nil filter admits all points.
func matches(p *point, f *qd.Filter) bool {
	if f == nil {
		return true
	}
	holds := func(c *qd.Condition) bool { return p.meets(c) }
	if slices.ContainsFunc(f.GetMust(), func(c *qd.Condition) bool { return !holds(c) }) {
		return false
	}
	if slices.ContainsFunc(f.GetMustNot(), holds) {
		return false
	}
	if len(f.GetShould()) > 0 && !slices.ContainsFunc(f.GetShould(), holds) {
		return false
	}
	if m := f.GetMinShould(); m != nil {
		n := uint64(0)
		for _, c := range m.GetConditions() {
			if holds(c) {
				n++
			}
		}
		return n >= m.GetMinCount()
	}
	return true
}

func (p *point) meets(c *qd.Condition) bool {
	switch one := c.GetConditionOneOf().(type) {
	case *qd.Condition_Field:
		return p.meetsField(one.Field)
	case *qd.Condition_Filter:
		return matches(p, one.Filter)
	case *qd.Condition_IsEmpty:
		return p.isEmpty(one.IsEmpty.GetKey())
	case *qd.Condition_IsNull:
		return p.isNull(one.IsNull.GetKey())
	case *qd.Condition_HasVector:
		_, has := p.vectors[one.HasVector.GetHasVector()]
		return has
	case *qd.Condition_HasId:
		own, _ := keyOf(p.id)
		return slices.ContainsFunc(one.HasId.GetHasId(), func(id *qd.PointId) bool {
			key,
				_ := keyOf(id)
			return key == own
		})
	}
	return false // checkFilter has refused the others
}

// isEmpty reports whether the key is absent, null, or an empty list.
func (p *point) isEmpty(key string) bool {
	v, there := p.payload[key]
	if !there {
		return true
	}
	switch kind := v.GetKind().(type) {
	case nil, *qd.Value_NullValue:
		return true
	case *qd.Value_ListValue:
		return len(kind.ListValue.GetValues()) == 0
	}
	return false
}

// isNull reports whether the key is present, and null or a list with a null.
func (p *point) isNull(key string) bool {
	return slices.ContainsFunc(p.values(key), func(v *qd.Value) bool {
		_, null := v.GetKind().(*qd.Value_NullValue)
		return null
	})
}

// values returns the values under a key: the elements of a list, or the single value.
func (p *point) values(key string) []*qd.Value {
	v, there := p.payload[key]
	if !there {
		return nil
	}
	if list, ok := v.GetKind().(*qd.Value_ListValue); ok {
		return list.ListValue.GetValues()
	}
	return []*qd.Value{v}
}

func (p *point) meetsField(f *qd.FieldCondition) bool {
	values := p.values(f.GetKey())
	if f.IsEmpty != nil && f.GetIsEmpty() != p.isEmpty(f.GetKey()) {
		return false
	}
	if f.IsNull != nil && f.GetIsNull() != p.isNull(f.GetKey()) {
		return false
	}
	if f.GetMatch() != nil && !slices.ContainsFunc(values, func(v *qd.Value) bool { return equals(f.GetMatch(), v) }) {
		return false
	}
	if f.GetRange() != nil && !slices.ContainsFunc(values, func(v *qd.Value) bool { return within(f.GetRange(), v) }) {
		return false
	}
	if c := f.GetValuesCount(); c != nil {
		n := uint64(len(values))
		if c.Lt != nil && n >= c.GetLt() || c.Gt != nil && n <= c.GetGt() || c.Gte != nil && n < c.GetGte() ||
			c.Lte != nil && n > c.GetLte() {
			return false
		}
	}
	return true
}

// equals reports whether a value is one that a match accepts. Types are not converted into each other.
func equals(m *qd.Match, v *qd.Value) bool {
	text, isText := v.GetKind().(*qd.Value_StringValue)
	number, isNumber := v.GetKind().(*qd.Value_IntegerValue)
	truth, isBool := v.GetKind().(*qd.Value_BoolValue)
	switch want := m.GetMatchValue().(type) {
	case *qd.Match_Keyword:
		return isText && text.StringValue == want.Keyword
	case *qd.Match_Integer:
		return isNumber && number.IntegerValue == want.Integer
	case *qd.Match_Boolean:
		return isBool && truth.BoolValue == want.Boolean
	case *qd.Match_Keywords:
		return isText && slices.Contains(want.Keywords.GetStrings(), text.StringValue)
	case *qd.Match_Integers:
		return isNumber && slices.Contains(want.Integers.GetIntegers(), number.IntegerValue)
	case *qd.Match_ExceptKeywords:
		return isText && !slices.Contains(want.ExceptKeywords.GetStrings(), text.StringValue)
	case *qd.Match_ExceptIntegers:
		return isNumber && !slices.Contains(want.ExceptIntegers.GetIntegers(), number.IntegerValue)
	}
	return false
}

func within(r *qd.Range, v *qd.Value) bool {
	var x float64
	switch n := v.GetKind().(type) {
	case *qd.Value_IntegerValue:
		x = float64(n.IntegerValue)
	case *qd.Value_DoubleValue:
		x = n.DoubleValue
	default:
		return false
	}
	return (r.Lt == nil || x < r.GetLt()) && (r.Gt == nil || x > r.GetGt()) && (r.Gte == nil || x >= r.GetGte()) &&
		(r.Lte == nil || x <= r.GetLte())
}
