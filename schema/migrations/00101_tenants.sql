-- Tenants, and what every later file leans on: extensions, the application's role, row-level security, and the
-- functions that guard tables and functions.
--
-- Versions begin with 101. Those below belong to an earlier series of files, which was never released; a database
-- that they made is refused (migrations.ErrFormerSeries).

-- +goose Up

-- Extensions and roles belong to the database and the cluster, not to this schema. Several schemas may run this file
-- at once (tests, blue and green deployments), so one lock covers it.
-- +goose StatementBegin
DO $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('mneme.migrations.foundations'));
    CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
    CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mneme_app') THEN
        -- The application runs as this role: it owns nothing and cannot bypass row-level security.
        CREATE ROLE mneme_app NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
    -- Since Postgres 16 the creator of a role is a member of it, but may not act as it.
    IF NOT pg_has_role(CURRENT_USER, 'mneme_app',
        CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END)
    THEN
        EXECUTE format('GRANT mneme_app TO %I', CURRENT_USER);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO mneme_app', current_schema());
END $$;
-- +goose StatementEnd

-- The application compares the version of the schema with its own.
GRANT SELECT ON goose_db_version TO mneme_app;

-- The tenant of the running transaction. NULL, which matches no row, when none is set.
-- +goose StatementBegin
CREATE FUNCTION mneme_tenant() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('mneme.tenant', true), '');
-- +goose StatementEnd

-- Binds a table to the tenant of the transaction, and grants it to the application. Every migration calls it for each
-- table that it creates.
-- +goose StatementBegin
CREATE PROCEDURE mneme_protect_table(bound regclass)
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', bound);
    -- The sub-select is evaluated once per statement, not once per row.
    EXECUTE format('CREATE POLICY tenant_only ON %s USING (tenant = (SELECT mneme_tenant()))
        WITH CHECK (tenant = (SELECT mneme_tenant()))', bound);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO mneme_app', bound);
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON PROCEDURE mneme_protect_table(regclass) FROM PUBLIC;

-- Guards a function that acts as the owner (SECURITY DEFINER). Only the application may call it, and a temporary table
-- of the caller cannot take the place of a table that the function reads: pg_temp is searched first unless the path
-- names it. Every migration calls it for each such function, also after CREATE OR REPLACE, which resets the path.
-- +goose StatementBegin
CREATE PROCEDURE mneme_protect_function(guarded regprocedure)
    LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', guarded, current_schema());
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', guarded);
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO mneme_app', guarded);
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON PROCEDURE mneme_protect_function(regprocedure) FROM PUBLIC;

-- The trigger of tables and rows that never change.
-- +goose StatementBegin
CREATE FUNCTION mneme_refuse_change() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd

-- Maps a BCP 47 primary language to a text search configuration. Words of other languages are not stemmed.
-- +goose StatementBegin
CREATE FUNCTION mneme_text_config(language text) RETURNS regconfig
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE language
        WHEN 'en' THEN 'pg_catalog.english'::regconfig
        WHEN 'de' THEN 'pg_catalog.german'::regconfig
        WHEN 'fr' THEN 'pg_catalog.french'::regconfig
        WHEN 'es' THEN 'pg_catalog.spanish'::regconfig
        WHEN 'it' THEN 'pg_catalog.italian'::regconfig
        WHEN 'pt' THEN 'pg_catalog.portuguese'::regconfig
        WHEN 'nl' THEN 'pg_catalog.dutch'::regconfig
        ELSE 'pg_catalog.simple'::regconfig
    END;
-- +goose StatementEnd

CREATE TABLE tenant_secrets (
    tenant     text        NOT NULL CHECK (tenant <> ''),
    name       text        NOT NULL CHECK (name <> ''),
    secret     bytea       NOT NULL CHECK (octet_length(secret) >= 32),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, name)
);
COMMENT ON TABLE tenant_secrets IS
    'A tenant''s keys for confirmation tokens and digests, made on first use and known to the database only.';
CALL mneme_protect_table('tenant_secrets');
-- With another key, nothing that was signed or digested before could be checked.
REVOKE UPDATE, DELETE ON tenant_secrets FROM mneme_app;
