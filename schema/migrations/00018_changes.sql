-- A decision says how sure it is that the fact changes its target, and which other memories say the same as
-- the target. A batch says whether such changes may be applied without a person.

-- +goose Up

ALTER TABLE proposals
    ADD COLUMN change text NOT NULL DEFAULT 'none' CHECK (change IN ('none', 'supersede', 'contest', 'retract')),
    ADD COLUMN own    boolean NOT NULL DEFAULT false, -- the speaker's own later statement
    ADD COLUMN also   uuid[] NOT NULL DEFAULT '{}';   -- memories that say the same as the target

-- Batches from before this column wait for a person, as they did.
ALTER TABLE ingest_batches
    ADD COLUMN supersede text NOT NULL DEFAULT 'review' CHECK (supersede IN ('auto', 'own', 'review'));

-- +goose Down

ALTER TABLE ingest_batches DROP COLUMN supersede;
ALTER TABLE proposals DROP COLUMN change, DROP COLUMN own, DROP COLUMN also;
