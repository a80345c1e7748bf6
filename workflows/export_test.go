package workflows

// RenewReview is renewReview, for tests.
var RenewReview = renewReview
