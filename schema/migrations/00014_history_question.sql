-- A purge that would take too much of history asks by itself: an answer about memories is none about history.

-- +goose Up

ALTER TABLE sweep_holds DROP CONSTRAINT sweep_holds_sweep_check;
ALTER TABLE sweep_holds ADD CONSTRAINT sweep_holds_sweep_check CHECK (sweep IN ('decay', 'retention', 'history'));
-- Until now one question stood for both, so it is not known what was answered.
DELETE FROM sweep_holds WHERE sweep = 'retention';

-- +goose Down
SELECT 1;
