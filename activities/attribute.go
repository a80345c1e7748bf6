package activities

// AttributeTenant is the search attribute of the tenant.
const AttributeTenant = "MnemeTenant"
