// Package budget implements a tenant's daily token budget for models that its learning calls. Tokens are reserved
// before a call and settled after it. A reservation that is never settled counts as used, so failed attempts count.
// Package store/budgets stores the counts.
package budget
