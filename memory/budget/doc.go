// Package budget is the rule of a tenant's token budget: how many tokens of models its learning may use in a day. A
// call is reserved before it is made and settled after; a reservation that is never settled counts as used, so that
// failed attempts count. Package store/budgets keeps the counts.
package budget
