package doctor

import (
	"context"
	"fmt"

	"github.com/mneme/mneme/internal/cli/operate"
)

// forgetsUnfinished looks for confirmed runs of Forget that are not done and have no workflow any more: some of their
// memories may be as they were, and what was forgotten may still be in the index and in histories.
func (d *Doctor) forgetsUnfinished(ctx context.Context) (verdict, error) {
	const perTenant, few = 20, 3
	unfinished, names := 0, []string(nil)
	checked, more, err := d.eachTenant(ctx, func(ctx context.Context, tenant string) error {
		runs, err := d.Store.UnfinishedForgets(ctx, tenant, d.Now().Add(-operate.JobGrace), perTenant)
		if err != nil {
			return err
		}
		for _, run := range runs {
			still, err := operate.RunsStill(ctx, d.Client, run.WorkflowID)
			if err != nil {
				return err
			}
			if still {
				continue
			}
			if unfinished++; len(names) < few {
				names = append(names, fmt.Sprintf("%s of agent %s, tenant %s", run.ID, run.Agent, tenant))
			}
		}
		return nil
	})
	if err != nil && unfinished == 0 {
		return verdict{}, err
	}
	among := ofTenants(checked, more || err != nil)
	if unfinished > 0 {
		return fail("`mneme forget resume RUN --tenant T --agent A` continues one, without a second confirmation.",
			"%d confirmed forgets are not done and have no run%s, such as %s", unfinished, among, listed(names)), nil
	}
	return fine("none%s", among), nil
}
