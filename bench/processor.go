package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// processorTime is the processor time of this process and of Postgres.
type processorTime struct {
	here, postgres time.Duration
	known          bool // the server runs on this machine
}

// processorTime reads it. For Postgres, it counts the connections of the store.
func (b *bench) processorTime(ctx context.Context, s site) processorTime {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return processorTime{}
	}
	out := processorTime{here: time.Duration(used.Utime.Nano() + used.Stime.Nano())}
	err := b.owner(ctx, s.url, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT pid FROM pg_stat_activity WHERE application_name = $1`, applicationName)
		if err != nil {
			return err
		}
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
		if err != nil {
			return err
		}
		for _, pid := range pids {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
			if err != nil {
				return err
			}
			nanoseconds, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
			if err != nil {
				return err
			}
			out.postgres += time.Duration(nanoseconds)
		}
		out.known = len(pids) > 0
		return nil
	})
	out.known = out.known && err == nil
	return out
}

// perCall renders the processor time of each of a number of calls since before.
func (p processorTime) perCall(before processorTime, calls int) (here, postgres string) {
	here, postgres = ms((p.here-before.here)/time.Duration(calls)), "-"
	if p.known && before.known {
		postgres = ms((p.postgres - before.postgres) / time.Duration(calls))
	}
	return here, postgres
}
