-- Revision: every version kept, texts that can be erased, records put and linked directly, forgetting
-- in runs, reviews.

-- +goose Up

-- The RFC's record, in full.
ALTER TABLE memories
    ADD COLUMN external_id text CHECK (external_id <> ''), -- the id elsewhere, where that is no UUID
    ADD COLUMN decay_floor double precision NOT NULL DEFAULT 0 CHECK (decay_floor BETWEEN 0 AND 1),
    ADD COLUMN erased_at   timestamptz,
    ADD COLUMN recorded_at timestamptz, -- when the store learned of it: a record may say that it was made before; NULL: when it was made
    ADD CONSTRAINT memories_erased_is_deleted CHECK (erased_at IS NULL OR deleted_at IS NOT NULL),
    ADD CONSTRAINT memories_not_its_own_successor CHECK (superseded_by <> id AND supersedes <> id);

-- Whether a claim's predicate has one object at a time stands in the payload too, so that an
-- exported record says all that the row knows.
UPDATE memories SET payload = payload || '{"cardinality": "many"}' WHERE type = 'semantic' AND NOT functional;
-- Revision state is the columns'; the payload does not repeat it.
UPDATE memories SET payload = payload - 'revision' WHERE payload ? 'revision';
ALTER TABLE memories ADD CONSTRAINT memories_payload_of_type CHECK (erased_at IS NOT NULL OR payload->>'kind' IS NOT DISTINCT FROM type); -- a check lets NULL pass

-- Subject and predicate are longer than an index row may be: the index has their digest. The length
-- of the subject keeps two claims apart whose texts run together to the same.
-- +goose StatementBegin
CREATE FUNCTION mneme_claim_key(subject text, predicate text) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN sha256(convert_to(length(lower(subject)) || ':' || lower(subject) || predicate, 'UTF8'));
-- +goose StatementEnd
ALTER TABLE memories ADD COLUMN claim_key bytea GENERATED ALWAYS AS (mneme_claim_key(subject, predicate)) STORED;
DROP INDEX memories_active_fact;
CREATE UNIQUE INDEX memories_active_fact ON memories (tenant, scope, claim_space, claim_key, conditions_hash)
    WHERE type = 'semantic' AND functional AND live AND status = 'active';

-- Erasing looks for who else has an artifact, lineage for successors, import for foreign ids.
CREATE UNIQUE INDEX memories_external ON memories (tenant, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX memories_superseded_by ON memories (tenant, superseded_by) WHERE superseded_by IS NOT NULL;
-- Contradictions to list, both sides.
CREATE INDEX memories_contested ON memories (tenant, id) WHERE status = 'contested' AND deleted_at IS NULL;
CREATE INDEX memories_deleted ON memories (tenant, deleted_at) WHERE deleted_at IS NOT NULL;

ALTER TABLE memory_relations DROP CONSTRAINT memory_relations_predicate_check;
ALTER TABLE memory_relations
    ADD CONSTRAINT memory_relations_predicate_check CHECK (predicate ~ '^[a-z][a-z0-9_]{0,63}$'),
    ADD CONSTRAINT memory_relations_not_to_itself CHECK (source_id <> target_id),
    ADD COLUMN reason text NOT NULL DEFAULT ''; -- why the edge is there; a person's or a rule's words

ALTER TABLE memory_provenance ADD COLUMN at timestamptz; -- when the evidence was given, if known

-- Every version that was, whole, from the moment that it is replaced: what as-of reads look at. A
-- trigger writes it, so that no path of the application can forget to.
CREATE TABLE memory_versions (
    tenant    text        NOT NULL,
    memory_id uuid        NOT NULL,
    version   integer     NOT NULL,
    since     timestamptz NOT NULL,
    until     timestamptz NOT NULL,
    record    jsonb       NOT NULL, -- the row, without what is derived from it
    PRIMARY KEY (tenant, memory_id, version),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE
);

-- +goose StatementBegin
CREATE FUNCTION mneme_keep_version() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory_versions (tenant, memory_id, version, since, until, record)
    SELECT o.tenant, o.id, o.version, greatest(o.updated_at, o.recorded_at), n.updated_at,
        to_jsonb(o) - '{tsv,normalized_content,claim_space,subject_key,claim_key,live}'::text[]
    FROM replaced o JOIN replacing n ON n.tenant = o.tenant AND n.id = o.id
    WHERE n.version <> o.version AND n.erased_at IS NULL;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_keep_version AFTER UPDATE ON memories
    REFERENCING OLD TABLE AS replaced NEW TABLE AS replacing
    FOR EACH STATEMENT EXECUTE FUNCTION mneme_keep_version();

-- A change takes its time before it waits for its locks, so that the later version may bring the
-- earlier time. Versions follow each other all the same.
-- +goose StatementBegin
CREATE FUNCTION mneme_not_before_the_last() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := greatest(OLD.updated_at, OLD.recorded_at);
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_versions_in_time BEFORE UPDATE ON memories
    FOR EACH ROW WHEN (NEW.version <> OLD.version AND NEW.updated_at < greatest(OLD.updated_at, OLD.recorded_at)) EXECUTE FUNCTION mneme_not_before_the_last();

-- Episodes are append-only (document 004 §5 and §15A.2): events may be added to the timeline, calls
-- to the tool graph, artifacts to the list, and what was not there may be said; nothing that stands
-- may be changed or go, except by erasure.
-- +goose StatementBegin
CREATE FUNCTION mneme_begins_with(longer jsonb, shorter jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE
        WHEN shorter IS NULL THEN true
        WHEN longer IS NULL OR jsonb_typeof(longer) <> 'array' OR jsonb_typeof(shorter) <> 'array' THEN longer IS NOT DISTINCT FROM shorter
        ELSE jsonb_array_length(longer) >= jsonb_array_length(shorter)
            AND NOT EXISTS (SELECT FROM jsonb_array_elements(shorter) WITH ORDINALITY s(e, n) WHERE longer->(n::integer - 1) <> s.e)
    END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE FUNCTION mneme_episode_only_grows() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.type <> OLD.type OR NEW.content <> OLD.content
        OR NOT mneme_begins_with(NEW.payload->'timeline', OLD.payload->'timeline')
        OR NOT mneme_begins_with(NEW.payload->'tool_graph', OLD.payload->'tool_graph')
        OR NOT mneme_begins_with(NEW.payload->'artifacts', OLD.payload->'artifacts')
        OR EXISTS (SELECT FROM jsonb_each(OLD.payload - '{timeline,tool_graph,artifacts}'::text[]) o
            WHERE NEW.payload->o.key IS DISTINCT FROM o.value)
    THEN
        RAISE EXCEPTION 'an episodic memory is append-only' USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER memories_episode_only_grows BEFORE UPDATE OF type, content, payload ON memories
    FOR EACH ROW WHEN (OLD.type = 'episodic' AND NEW.erased_at IS NULL) EXECUTE FUNCTION mneme_episode_only_grows();

-- What was erased stays erased.
CREATE TRIGGER memories_stay_erased BEFORE UPDATE ON memories
    FOR EACH ROW WHEN (OLD.erased_at IS NOT NULL) EXECUTE FUNCTION mneme_refuse_change();

-- History says what kind of step it was, and which version it led to.
ALTER TABLE memory_history
    ADD COLUMN action    text CHECK (action IN ('create', 'revise', 'fork', 'merge', 'delete', 'recover', 'contest', 'resolve', 'retract', 'modify', 'erase')),
    ADD COLUMN version   integer,     -- of the memory, after the step; NULL when nothing changed
    ADD COLUMN erased_at timestamptz; -- when its texts were removed

-- The one change that history admits: its texts go, or the reason of a step that another memory's text
-- was in. Only the functions below may make it.
-- +goose StatementBegin
CREATE FUNCTION mneme_only_erase() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND NEW.reason = '[erased]' AND OLD.metadata @> NEW.metadata
        AND (OLD.erased_at IS NULL AND NEW.erased_at IS NOT NULL AND NEW.old_content IS NULL AND NEW.new_content IS NULL
            OR (NEW.erased_at, NEW.old_content, NEW.new_content) IS NOT DISTINCT FROM (OLD.erased_at, OLD.old_content, OLD.new_content))
        AND (NEW.tenant, NEW.seq, NEW.id, NEW.memory_id, NEW.event, NEW.changed_by, NEW.created_at, NEW.action, NEW.version)
            IS NOT DISTINCT FROM (OLD.tenant, OLD.seq, OLD.id, OLD.memory_id, OLD.event, OLD.changed_by, OLD.created_at, OLD.action, OLD.version)
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd
DROP TRIGGER memory_history_append_only ON memory_history;
CREATE TRIGGER memory_history_append_only BEFORE UPDATE OR DELETE ON memory_history
    FOR EACH ROW EXECUTE FUNCTION mneme_only_erase();

-- What is left of a history row's metadata when its texts go.
-- +goose StatementBegin
CREATE FUNCTION mneme_without_text(metadata jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN metadata - '{fact,content,reason,rationale,evidence,refs}'::text[];
-- +goose StatementEnd

-- Removes texts and reasons from the history of memories of the running tenant that are erased or gone;
-- who, when, what kind of step and which version stay. Returns how many rows lost something.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_history(ids uuid[], at timestamptz) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    WITH erased AS (
        UPDATE memory_history SET old_content = NULL, new_content = NULL, reason = '[erased]', erased_at = at,
            metadata = mneme_without_text(metadata)
        WHERE tenant = mneme_tenant() AND memory_id = ANY(ids) AND erased_at IS NULL
            AND NOT EXISTS (SELECT FROM memories m WHERE m.tenant = mneme_tenant() AND m.id = memory_history.memory_id AND m.erased_at IS NULL)
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION mneme_erase_history(uuid[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mneme_erase_history(uuid[], timestamptz) TO mneme_app;

-- Removes the reasons of proposals from the history of the sources that they were made from: a model's
-- words about one memory stand in the history of another. Rows that hold a text of their own stay.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_reasons(sources uuid[], proposals text[], at timestamptz) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    WITH erased AS (
        UPDATE memory_history SET reason = '[erased]', erased_at = at, metadata = mneme_without_text(metadata)
        WHERE tenant = mneme_tenant() AND memory_id = ANY(sources) AND metadata->>'proposalId' = ANY(proposals)
            AND old_content IS NULL AND new_content IS NULL AND erased_at IS NULL
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION mneme_erase_reasons(uuid[], text[], timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mneme_erase_reasons(uuid[], text[], timestamptz) TO mneme_app;

-- Removes reason and evidence of the revisions that made memories from the history of what they revised:
-- those words are the new memory's. The texts of the revised ones stay.
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_evidence(made uuid[], revised uuid[]) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    WITH making AS (
        SELECT DISTINCT metadata->>'operationId' AS id FROM memory_history
        WHERE tenant = mneme_tenant() AND memory_id = ANY(made) AND event = 'created' AND metadata ? 'revision'
    ), erased AS (
        UPDATE memory_history h SET reason = '[erased]', metadata = mneme_without_text(h.metadata)
        FROM making WHERE h.tenant = mneme_tenant() AND h.memory_id = ANY(revised) AND h.metadata ? 'revision' AND h.metadata->>'operationId' = making.id
            AND (h.reason <> '[erased]' OR h.metadata ? 'evidence')
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION mneme_erase_evidence(uuid[], uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mneme_erase_evidence(uuid[], uuid[]) TO mneme_app;

-- Results of puts name their records as the caller does, by a text of its own. Row-level security would
-- keep the index from being used: the function stands outside of it, with the same condition.
CREATE INDEX operations_of_memory ON operations USING gin ((result->'items') jsonb_path_ops) WHERE jsonb_path_exists(result, '$.items[*].external_id');
-- +goose StatementBegin
CREATE FUNCTION mneme_erase_external(ids uuid[]) RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    WITH naming AS (
        SELECT DISTINCT o.id FROM unnest(ids) x(id) JOIN operations o ON o.result->'items' @> jsonb_build_array(jsonb_build_object('id', x.id))
        WHERE jsonb_path_exists(o.result, '$.items[*].external_id') AND o.tenant = mneme_tenant()
    ), erased AS (
        UPDATE operations o SET result = jsonb_set(o.result, '{items}', (
            SELECT jsonb_agg(CASE WHEN e.item->>'id' = ANY(ids::text[]) THEN e.item - 'external_id' ELSE e.item END ORDER BY e.n)
            FROM jsonb_array_elements(o.result->'items') WITH ORDINALITY e(item, n)))
        FROM naming WHERE o.tenant = mneme_tenant() AND o.id = naming.id
        RETURNING 1)
    SELECT count(*) FROM erased;
    $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION mneme_erase_external(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mneme_erase_external(uuid[]) TO mneme_app;

-- Whether a conditional memory applies in a context: no condition is contradicted. A key that the
-- context does not have decides nothing. A condition that is a list admits any of its elements.
-- +goose StatementBegin
CREATE FUNCTION mneme_applies(conditions jsonb, context jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN conditions IS NULL OR context IS NULL OR NOT EXISTS (
        SELECT FROM jsonb_each(conditions) c
        WHERE context ? c.key
            AND NOT CASE jsonb_typeof(c.value)
                WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(c.value) admitted WHERE admitted.value = context->c.key)
                ELSE c.value = context->c.key END);
-- +goose StatementEnd

CREATE OR REPLACE VIEW memory_search AS
    SELECT tenant, id, tsv, agent_id, project, scope, visibility, policy_group, type, category, tags, who, pinned,
           importance, sensitivity, occurred_at, validity, valid_from, valid_until, live, conditions
    FROM memories
    WHERE tenant = (SELECT mneme_tenant());

-- Large things that episodes refer to, by the SHA-256 of their bytes (document 004 §15.3).
CREATE TABLE artifacts (
    tenant     text        NOT NULL CHECK (tenant <> ''),
    sha256     bytea       NOT NULL CHECK (octet_length(sha256) = 32 AND sha256 = sha256(content)),
    media_type text        NOT NULL,
    size       bigint      NOT NULL CHECK (size = octet_length(content)),
    content    bytea       NOT NULL,
    agent_id   text        NOT NULL, -- who brought it first
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, sha256)
);
ALTER TABLE artifacts ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE TABLE memory_artifacts (
    tenant    text  NOT NULL,
    memory_id uuid  NOT NULL,
    sha256    bytea NOT NULL,
    PRIMARY KEY (tenant, memory_id, sha256),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant, sha256) REFERENCES artifacts (tenant, sha256)
);
CREATE INDEX memory_artifacts_of ON memory_artifacts (tenant, sha256);
-- Everyone who brought the bytes may have them back; for others a memory must refer to them.
CREATE TABLE artifact_holders (
    tenant   text  NOT NULL,
    sha256   bytea NOT NULL,
    agent_id text  NOT NULL CHECK (agent_id <> ''),
    PRIMARY KEY (tenant, sha256, agent_id),
    FOREIGN KEY (tenant, sha256) REFERENCES artifacts (tenant, sha256) ON DELETE CASCADE
);

-- Which memory says an edge of the graph, so that forgetting can take its word back exactly.
CREATE TABLE memory_entity_relations (
    tenant       text NOT NULL,
    memory_id    uuid NOT NULL,
    source_id    uuid NOT NULL,
    relationship text NOT NULL,
    target_id    uuid NOT NULL,
    PRIMARY KEY (tenant, memory_id, source_id, relationship, target_id),
    FOREIGN KEY (tenant, memory_id) REFERENCES memories (tenant, id),
    FOREIGN KEY (tenant, source_id, relationship, target_id) REFERENCES entity_relations (tenant, source_id, relationship, target_id) ON DELETE CASCADE
);
CREATE INDEX memory_entity_relations_of ON memory_entity_relations (tenant, source_id, relationship, target_id);

-- The bodies of requests that carry content, from the moment that a workflow takes them in until it
-- has carried them out: activities pass the id (claim check).
CREATE TABLE staged_requests (
    tenant     text        NOT NULL CHECK (tenant <> ''),
    id         text        NOT NULL CHECK (id <> ''),
    kind       text        NOT NULL CHECK (kind IN ('put', 'revise', 'modify', 'forget', 'recover', 'review')),
    body       jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    digest     bytea, -- of the body, keyed
    PRIMARY KEY (tenant, id)
);
-- A result answers the request that it was given for. The digest is keyed, so that it confirms no
-- guess at what has been erased. Results from before have neither, and answer whoever asks.
ALTER TABLE operations
    ADD COLUMN kind   text CHECK (kind IN ('put', 'revise', 'modify', 'forget', 'recover', 'review', 'ingest', 'candidate', 'resume')),
    ADD COLUMN digest bytea;

-- A run drops its request when it ends; one that was terminated cannot. Counts, and no text, leave the
-- tenants that they are of.
-- +goose StatementBegin
CREATE FUNCTION mneme_sweep_staged() RETURNS bigint
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT
    AS $$
    WITH swept AS (DELETE FROM staged_requests WHERE created_at < now() - interval '7 days' RETURNING 1)
    SELECT count(*) FROM swept;
    $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION mneme_sweep_staged() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION mneme_sweep_staged() TO mneme_app;

ALTER TABLE proposals DROP CONSTRAINT proposals_state_check;
ALTER TABLE proposals
    ADD CONSTRAINT proposals_state_check CHECK (state IN ('proposed', 'applied', 'skipped', 'blocked', 'stale', 'rejected', 'expired')),
    ADD COLUMN reviewed_by   text NOT NULL DEFAULT '',
    ADD COLUMN review_reason text NOT NULL DEFAULT '',
    ADD COLUMN reviewed_at   timestamptz,
    ADD COLUMN expires_at    timestamptz; -- set when a review begins to wait; NULL: it waits for good
-- Proposals are listed newest first, and those of one batch were decided at the same time.
DROP INDEX proposals_to_review;
CREATE INDEX proposals_to_review ON proposals (tenant, decided_at, id) WHERE state = 'blocked' AND outcome NOT IN ('shadow_mode', 'mutations_frozen');
CREATE INDEX proposals_reviewed ON proposals (tenant, decided_at, id) WHERE reviewed_at IS NOT NULL;

-- One run of Forget: what it selected, how far it has come, what it removed.
CREATE TABLE forget_runs (
    tenant       text        NOT NULL CHECK (tenant <> ''),
    id           uuid        NOT NULL,
    workflow_id  text        NOT NULL,
    agent_id     text        NOT NULL,
    mode         text        NOT NULL CHECK (mode IN ('soft', 'force', 'erase')),
    state        text        NOT NULL CHECK (state IN ('preview', 'confirmed', 'done', 'expired', 'cancelled')),
    total        integer     NOT NULL CHECK (total >= 0),
    digest       bytea       NOT NULL, -- over ids and versions, in order
    reason       text        NOT NULL DEFAULT '',
    requested_by text        NOT NULL,
    confirmed_by text        NOT NULL DEFAULT '',
    expires_at   timestamptz NOT NULL,
    confirmed_at timestamptz,
    finished_at  timestamptz,
    receipt      jsonb       NOT NULL DEFAULT '{}', -- counts by place
    created_at   timestamptz NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE TABLE forget_items (
    tenant    text    NOT NULL,
    run_id    uuid    NOT NULL,
    ordinal   integer NOT NULL CHECK (ordinal >= 0),
    memory_id uuid    NOT NULL, -- no foreign key: force deletes the memory
    version   integer NOT NULL,
    outcome   text    NOT NULL DEFAULT '', -- empty while it waits; then forgotten, or why not
    PRIMARY KEY (tenant, run_id, ordinal),
    FOREIGN KEY (tenant, run_id) REFERENCES forget_runs (tenant, id) ON DELETE CASCADE
);
CREATE INDEX forget_items_waiting ON forget_items (tenant, run_id, ordinal) WHERE outcome = '';
CREATE INDEX forget_items_of_memory ON forget_items (tenant, memory_id);

-- Keys that only the database knows, made on first use.
CREATE TABLE tenant_secrets (
    tenant     text        NOT NULL CHECK (tenant <> ''),
    name       text        NOT NULL CHECK (name <> ''),
    secret     bytea       NOT NULL CHECK (octet_length(secret) >= 32),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- Erasing finds the texts that a memory came from.
CREATE INDEX memory_candidates_of_memory ON memory_candidates (tenant, memory_id);
CREATE INDEX proposals_of_memory ON proposals (tenant, memory_id) WHERE memory_id IS NOT NULL;
CREATE INDEX proposals_of_target ON proposals (tenant, target_id) WHERE target_id IS NOT NULL;

-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOREACH t IN ARRAY ARRAY['memory_versions', 'artifacts', 'memory_artifacts', 'artifact_holders', 'memory_entity_relations', 'staged_requests',
        'forget_runs', 'forget_items', 'tenant_secrets']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
        EXECUTE format('CREATE POLICY tenant_only ON %I USING (tenant = (SELECT mneme_tenant())) WITH CHECK (tenant = (SELECT mneme_tenant()))', t);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO mneme_app', t);
    END LOOP;
    -- Kept versions are written by the trigger, which runs as the application, and go by erasure alone.
    REVOKE UPDATE ON memory_versions FROM mneme_app;
    REVOKE UPDATE ON artifacts, tenant_secrets FROM mneme_app;
    -- A key that is made anew would let what was signed and digested with the old one answer to nobody.
    REVOKE DELETE ON tenant_secrets FROM mneme_app;
END $$;
-- +goose StatementEnd

-- A caller's temporary tables are looked at first unless the path names their schema: behind the own
-- one they cannot stand in for a table of a function that acts as the owner.
-- +goose StatementBegin
DO $$
DECLARE
    f regprocedure;
BEGIN
    FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = current_schema()::regnamespace AND prosecdef AND proname LIKE 'mneme\_%'
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', f, current_schema());
    END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
SELECT 1;
