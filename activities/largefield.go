package activities

// LargeField is the field of a kind's requests that may be large.
func LargeField(kind string) string {
	switch kind {
	case "ingest":
		return "candidates"
	case "put":
		return "records"
	case "revise":
		return "record"
	case "modify":
		return "patches"
	case "forget":
		return "selector"
	case "recover":
		return "targets"
	case "feedback":
		return "items"
	}
	return ""
}
