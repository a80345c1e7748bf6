package pg

import (
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// uuidCodec is pgtype.UUIDCodec with support for uuid.UUID. Without it, pgx converts each id through text and
// reflection, which for the arguments of a recall alone takes 6 % of its processor time in this process.
type uuidCodec struct{ pgtype.UUIDCodec }

// PlanEncode implements pgtype.Codec.
func (c uuidCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return encodeUUID{}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

// PlanScan implements pgtype.Codec.
func (c uuidCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return scanUUID{}
	}
	return c.UUIDCodec.PlanScan(m, oid, format, target)
}

type encodeUUID struct{}

func (encodeUUID) Encode(value any, buf []byte) ([]byte, error) {
	id := value.(uuid.UUID)
	return append(buf, id[:]...), nil
}

type scanUUID struct{}

// Scan reads NULL as the zero id, as uuid.UUID.Scan does.
func (scanUUID) Scan(src []byte, target any) error {
	id := target.(*uuid.UUID)
	if src == nil {
		*id = uuid.Nil
		return nil
	}
	return id.UnmarshalBinary(src)
}

// uuidArray is a list of ids as pgx encodes arrays, without reflection.
type uuidArray []uuid.UUID

func (a uuidArray) Dimensions() []pgtype.ArrayDimension {
	if a == nil {
		return nil // NULL
	}
	return []pgtype.ArrayDimension{{Length: int32(len(a)), LowerBound: 1}}
}

func (a uuidArray) Index(i int) any { return a[i] }

func (a uuidArray) IndexType() any { return uuid.UUID{} }

// encodeUUIDs encodes []uuid.UUID by the plan of uuidArray.
type encodeUUIDs struct{ next pgtype.EncodePlan }

func (p *encodeUUIDs) SetNext(next pgtype.EncodePlan) { p.next = next }

func (p *encodeUUIDs) Encode(value any, buf []byte) ([]byte, error) {
	return p.next.Encode(uuidArray(value.([]uuid.UUID)), buf)
}

func wrapUUIDs(value any) (plan pgtype.WrappedEncodePlanNextSetter, next any, ok bool) {
	ids, ok := value.([]uuid.UUID)
	return &encodeUUIDs{}, uuidArray(ids), ok
}

// registerUUIDs registers ids and arrays of them.
func registerUUIDs(m *pgtype.Map) {
	element := &pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}}
	m.RegisterType(element)
	m.RegisterType(&pgtype.Type{Name: "_uuid", OID: pgtype.UUIDArrayOID,
		Codec: &pgtype.ArrayCodec{ElementType: element}})
	m.TryWrapEncodePlanFuncs = append([]pgtype.TryWrapEncodePlanFunc{wrapUUIDs}, m.TryWrapEncodePlanFuncs...)
}
