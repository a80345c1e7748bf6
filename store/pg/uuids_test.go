package pg

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"
)

// Ids are encoded and read as pgx does without uuidCodec, NULL and nil lists included.
func TestUUIDsAsPgxEncodesThem(t *testing.T) {
	plain, own := pgtype.NewMap(), pgtype.NewMap()
	registerUUIDs(own)
	ids := []uuid.UUID{uuid.Must(uuid.NewV7()), uuid.Nil, uuid.New()}
	for _, value := range []any{ids[0], uuid.Nil, &ids[0], (*uuid.UUID)(nil), nil,
		uuid.NullUUID{UUID: ids[0], Valid: true}, uuid.NullUUID{}} {
		for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
			want, err := plain.Encode(pgtype.UUIDOID, format, value, nil)
			require.NoError(t, err, "%T", value)
			got, err := own.Encode(pgtype.UUIDOID, format, value, nil)
			require.NoError(t, err, "%T", value)
			require.Equal(t, want, got, "%T", value)
		}
	}
	for _, list := range []any{ids, []uuid.UUID{}, []uuid.UUID(nil),
		[]*uuid.UUID{&ids[0], nil}} {
		for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
			want, err := plain.Encode(pgtype.UUIDArrayOID, format, list, nil)
			require.NoError(t, err, "%T", list)
			got, err := own.Encode(pgtype.UUIDArrayOID, format, list, nil)
			require.NoError(t, err, "%T", list)
			require.Equal(t, want, got, "%T", list)
			var wanted, read []uuid.UUID
			if _, pointers := list.([]*uuid.UUID); !pointers {
				require.NoError(t, plain.Scan(pgtype.UUIDArrayOID, format, want, &wanted))
				require.NoError(t, own.Scan(pgtype.UUIDArrayOID, format, want, &read))
				require.Equal(t, wanted, read)
			}
		}
	}
	id, pointer := ids[0], &ids[0]
	require.NoError(t, own.Scan(pgtype.UUIDOID, pgtype.BinaryFormatCode, nil, &id))
	require.NoError(t, own.Scan(pgtype.UUIDOID, pgtype.BinaryFormatCode, nil, &pointer))
	require.Equal(t, uuid.Nil, id)
	require.Nil(t, pointer)
	require.Error(t, own.Scan(pgtype.UUIDOID, pgtype.BinaryFormatCode, []byte{1, 2}, &id))
}
