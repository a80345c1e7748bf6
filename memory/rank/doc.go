// Package rank turns the results of a recall's channels into one ranking: it plans the search terms, fuses the
// evidence, adds evidence from neighbours, removes duplicates and handles statements that later ones have replaced. It
// does no I/O: package recall reads the texts and calls the stages in order.
package rank
