-- Search by words stays as fast while much is written.

-- +goose Up

-- As memories_text has it: what was written last is read one by one at every search.
ALTER INDEX entity_claims_text SET (gin_pending_list_limit = 256);
ALTER INDEX memories_summary SET (gin_pending_list_limit = 256);
ALTER INDEX memories_signals SET (gin_pending_list_limit = 256);

-- +goose Down
SELECT 1;
