package advice

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRemoves(t *testing.T) {
	for _, cmd := range []string{"rm -f orders.db", "cd x && rm -rf data/2024", "find . -name '*.csv' -delete",
		"find . -type f -exec rm {} +", "git reset -q --hard", "git fetch && git reset --hard @{u}", "git clean -fdq",
		"git checkout -q -- notes.txt", "git push -q --force", "git -C ../app checkout -- .", "git branch -D topic",
		"sqlite3 a.db 'DELETE FROM orders'", "psql -c \"drop table orders\"", "sudo rm -r /srv/data",
		"ls *.bak | xargs rm", "docker volume rm data", "docker system prune", "kubectl delete pod web",
		"truncate -s 0 a.csv", "git restore a.txt", "kafka-topics --delete --topic orders"} {
		require.True(t, removes("shell", []string{cmd}), cmd)
	}
	require.True(t, removes("delete_file", []string{"a.txt"}))
	require.True(t, removes("db.drop_table", nil))
	require.False(t, removes("drop-caches", nil))
	for _, cmd := range []string{"rm -rf node_modules", "rm -f *.o", "rm -f .git/index.lock",
		"rm -f .git/index && git reset -q", "rm -rf ~/.cache/go-build", "git stash", "git checkout -q topic",
		"git checkout -q -b recovered", "git push -q", "mv a.txt a.txt.saved", "sed -i '3d' a.go", "git reset -q",
		"find . -name a.txt", "sqlite3 a.db 'SELECT deleted FROM drops'", "go mod tidy", "cp a b", "echo remove",
		"git worktree remove ../x", "rm -rf build"} {
		require.False(t, removes("shell", []string{cmd}), cmd)
	}
	require.False(t, removes("edit_file", []string{"remove the line"}))
}
