-- Memories became active again at the end of a contest only from some version on. Those that had lost the other side
-- of their contest before it stayed contested; they are active from now on (store/commit, EndContests). A memory that
-- was recorded as contested and was never in a contest here stays contested.

-- +goose Up

-- The planner knows the size of these tables, but not of the parts of a statement.
CREATE TEMPORARY TABLE contest_side ON COMMIT DROP AS
    SELECT tenant, id, scope, claim_space, conditions_hash, valid_from, valid_until,
        CASE WHEN type = 'semantic' AND functional THEN claim_key END AS claim_key
    FROM memories
    WHERE status = 'contested' AND deleted_at IS NULL AND live;
ANALYZE contest_side;

CREATE TEMPORARY TABLE contest_edge ON COMMIT DROP AS
    SELECT s.tenant, s.id, l.target_id AS other, l.created_at
    FROM contest_side s
        JOIN memory_links l ON l.tenant = s.tenant AND l.source_id = s.id AND l.predicate = 'contradicts'
    UNION ALL
    SELECT s.tenant, s.id, l.source_id, l.created_at
    FROM contest_side s
        JOIN memory_links l ON l.tenant = s.tenant AND l.target_id = s.id AND l.predicate = 'contradicts';
ANALYZE contest_edge;

-- If the row of the other one was deleted, the relation was deleted with it, and only history tells of the contest.
CREATE TEMPORARY TABLE contest_ended ON COMMIT DROP AS
    SELECT s.*, e.other AS gone
    FROM contest_side s
        LEFT JOIN (SELECT DISTINCT ON (tenant, id) tenant, id, other FROM contest_edge
            ORDER BY tenant, id, created_at DESC) e ON e.tenant = s.tenant AND e.id = s.id
    WHERE NOT EXISTS (
            SELECT FROM contest_edge x JOIN contest_side o ON o.tenant = x.tenant AND o.id = x.other
            WHERE x.tenant = s.tenant AND x.id = s.id)
        -- A relation with a memory that is live was not made by a contest that ended.
        AND NOT EXISTS (
            SELECT FROM contest_edge x JOIN memories o ON o.tenant = x.tenant AND o.id = x.other AND o.live
            WHERE x.tenant = s.tenant AND x.id = s.id)
        AND (e.other IS NOT NULL OR EXISTS (
            SELECT FROM memory_history h
            WHERE h.tenant = s.tenant AND h.memory_id = s.id
                AND (h.action = 'contest' OR h.event = 'created' AND h.metadata ? 'proposalId')));
ANALYZE contest_ended;

-- Only one memory with a claim may be active on the same ground (memory.SameGround). If conditions differ and windows
-- overlap, SQL cannot tell, so such memories stay contested.
CREATE TEMPORARY TABLE contest_rival ON COMMIT DROP AS
    WITH claimant AS (
        SELECT e.tenant, e.id, r.id AS rival, true AS contests, e.conditions_hash, e.valid_from, e.valid_until,
            r.conditions_hash AS its_hash, r.valid_from AS its_from, r.valid_until AS its_until
        FROM contest_ended e
            JOIN contest_side r ON r.tenant = e.tenant AND r.scope = e.scope AND r.claim_space = e.claim_space
                AND r.claim_key = e.claim_key AND r.id <> e.id
        UNION ALL
        SELECT e.tenant, e.id, r.id, false, e.conditions_hash, e.valid_from, e.valid_until, r.conditions_hash,
            r.valid_from, r.valid_until
        FROM contest_ended e
            JOIN memories r ON r.tenant = e.tenant AND r.scope = e.scope AND r.claim_space = e.claim_space
                AND r.claim_key = e.claim_key AND r.type = 'semantic' AND r.functional AND r.live
                AND r.status = 'active'
    )
    SELECT tenant, id, rival, contests AND its_hash = conditions_hash AS contests
    FROM claimant
    WHERE its_hash = conditions_hash
        OR its_hash <> '' AND conditions_hash <> ''
            AND num_nonnulls(its_from, its_until, valid_from, valid_until) > 0
            AND tstzrange(its_from, its_until) && tstzrange(valid_from, valid_until);
ANALYZE contest_rival;

-- What makes the same claim contests it from now on.
INSERT INTO memory_links (tenant, source_id, predicate, target_id, created_at)
SELECT tenant, id, 'contradicts', rival, now() FROM contest_rival WHERE contests
UNION
SELECT tenant, rival, 'contradicts', id, now() FROM contest_rival WHERE contests
ON CONFLICT DO NOTHING;

WITH freed AS (
    UPDATE memories m
    SET status = 'active', updated_at = now(), version = m.version + 1
    FROM contest_ended e
    WHERE m.tenant = e.tenant AND m.id = e.id AND m.status = 'contested' AND m.live
        AND NOT EXISTS (SELECT FROM contest_rival r WHERE r.tenant = e.tenant AND r.id = e.id)
    RETURNING m.tenant, m.id, m.version, e.gone
), told AS (
    INSERT INTO memory_history (tenant, id, memory_id, event, changed_by, reason, metadata, created_at, action, version)
    SELECT tenant, gen_random_uuid(), id, 'modified', 'contest-policy', 'the memory that contested it is gone',
        jsonb_strip_nulls(jsonb_build_object('beside', gone)), now(), 'modify', version
    FROM freed
), followed AS (
    UPDATE forget_items i
    SET version = f.version
    FROM freed f
    WHERE i.tenant = f.tenant AND i.memory_id = f.id AND i.outcome = '' AND i.version = f.version - 1
)
INSERT INTO index_outbox (tenant, memory_id, version, op, created_at)
SELECT tenant, id, version, 'upsert', now()
FROM freed;

-- +goose Down
SELECT 1;
