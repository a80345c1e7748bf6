package main

import "context"

func (b *bench) beam(ctx context.Context) error { return nil }
