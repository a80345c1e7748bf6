package migrations

import "context"

// UpTo applies what is pending up to a version, so that a test can put rows there that an older
// version wrote.
func UpTo(ctx context.Context, databaseURL string, version int64) error {
	provider, closeDB, err := open(databaseURL)
	if err != nil {
		return err
	}
	defer closeDB()
	_, err = provider.UpTo(ctx, version)
	return err
}
