-- Partitions of the ledger were made and dropped under a lock that waits for every reader, such as an export, and makes
-- all later readers and writers wait for it. Meanwhile no one could use the ledger, and then the purge failed.

-- +goose Up

-- Makes the partitions of a time's month and of the two months after it, and returns how many it made. It makes none
-- during a long read of the ledger: the next call does.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_make_event_partitions(at timestamptz) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET lock_timeout = '200ms'
    AS $$
DECLARE
    month timestamp := date_trunc('month', at AT TIME ZONE 'UTC');
    name  text;
    made  integer := 0;
BEGIN
    -- One caller at a time; the others go on.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('mneme.event_partitions.' || current_schema(), 0)) THEN
        RETURN 0;
    END IF;
    FOR i IN 1..3 LOOP
        name := 'events_' || to_char(month, 'YYYY_MM');
        IF to_regclass(format('%I', name)) IS NULL THEN
            BEGIN
                EXECUTE format('CREATE TABLE %I PARTITION OF events FOR VALUES FROM (%L) TO (%L)',
                    name, month::text || '+00', (month + interval '1 month')::text || '+00');
                CALL mneme_protect_event_partition(name::regclass,
                    'Events of the ledger that were recorded in ' || to_char(month, 'FMMonth YYYY') || '.');
                made := made + 1;
            EXCEPTION
                WHEN check_violation THEN
                    NULL; -- events of this month are in events_rest, where they stay
                WHEN lock_not_available OR deadlock_detected THEN
                    RETURN made;
            END;
        END IF;
        month := month + interval '1 month';
    END LOOP;
    RETURN made;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_make_event_partitions(timestamptz)');

-- Drops the partitions of months that ended before a time and hold no event of any tenant any more, and returns how
-- many. Dropping an empty partition frees its indexes, which deleting rows does not. The ledger is locked before its
-- partition, as readers do. It drops none during a long read of the ledger: the next call does.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION mneme_drop_event_partitions(before timestamptz) RETURNS integer
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET lock_timeout = '200ms'
    AS $$
DECLARE
    part    record;
    filled  boolean;
    dropped integer := 0;
BEGIN
    FOR part IN
        SELECT c.oid::regclass AS name, to_date(right(c.relname, 7), 'YYYY_MM') + interval '1 month' AS ended
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'events'::regclass AND c.relname ~ '^events_[0-9]{4}_[0-9]{2}$'
        ORDER BY c.relname
    LOOP
        CONTINUE WHEN part.ended AT TIME ZONE 'UTC' >= before;
        BEGIN
            EXECUTE format('SELECT EXISTS (SELECT FROM %s)', part.name) INTO filled;
            CONTINUE WHEN filled;
            LOCK TABLE ONLY events IN ACCESS EXCLUSIVE MODE;
            EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', part.name);
            EXECUTE format('SELECT EXISTS (SELECT FROM %s)', part.name) INTO filled;
            CONTINUE WHEN filled;
            EXECUTE format('DROP TABLE %s', part.name);
            dropped := dropped + 1;
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            RETURN dropped;
        END;
    END LOOP;
    RETURN dropped;
END $$;
-- +goose StatementEnd
CALL mneme_protect_function('mneme_drop_event_partitions(timestamptz)');

-- +goose Down
SELECT 1;
