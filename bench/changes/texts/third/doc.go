// Package third holds the texts of the third half, in plain wordings. Package changes makes conversations of them.
package third
