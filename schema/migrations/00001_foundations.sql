-- Extensions, the application role, and the functions that the tables lean on.
--
-- Extensions and roles belong to the database and the cluster, not to this schema: several schemas
-- (tests, blue and green deployments) may run this file at once, so one lock covers it.

-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('mneme.migrations.foundations'));
    CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
    CREATE EXTENSION IF NOT EXISTS btree_gin WITH SCHEMA public;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mneme_app') THEN
        -- What the application runs as: it owns nothing and cannot bypass row-level security.
        CREATE ROLE mneme_app NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
    END IF;
    IF NOT pg_has_role(CURRENT_USER, 'mneme_app', 'MEMBER') THEN
        EXECUTE format('GRANT mneme_app TO %I', CURRENT_USER);
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO mneme_app', current_schema());
END $$;
-- +goose StatementEnd

-- The tenant of the running transaction; NULL, hence no row at all, when none is set.
-- +goose StatementBegin
CREATE FUNCTION mneme_tenant() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('mneme.tenant', true), '');
-- +goose StatementEnd

-- Maps a BCP 47 primary language to a text search configuration; unknown ones are not stemmed.
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

-- +goose StatementBegin
CREATE FUNCTION mneme_refuse_change() RETURNS trigger
    LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END $$;
-- +goose StatementEnd

-- +goose Down
-- Migrations are forward-only.
SELECT 1;
