package config

import "github.com/mneme/mneme/inference"

// spoken adds speakers to the space of a trained model, unless they are switched off.
func (c Config) spoken(e inference.Embedder) inference.Embedder {
	if !c.EmbedSpeakers {
		return e
	}
	return inference.WithSpeakers(e)
}

// cached adds a cache to an embedder that is slower than a lookup.
func (c Config) cached(e inference.Embedder) (inference.Embedder, error) {
	if c.EmbedCache == 0 {
		return e, nil
	}
	return inference.NewCache(e, c.EmbedCache)
}
