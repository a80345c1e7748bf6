package workflows

// RenewReview is renewReview, for tests.
var RenewReview = renewReview

// OfTenant is ofTenant, for tests.
var OfTenant = ofTenant
