-- A recall reads the words of a question in the languages of the tenant's memories. Most tenants have only the default.

-- +goose Up

CREATE INDEX memories_languages ON memories (tenant, language) WHERE live AND language <> 'en';

-- +goose Down
SELECT 1;
