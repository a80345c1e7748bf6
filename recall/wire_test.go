package recall_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"net"
	"strings"
	"sync"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
)

// Everything that leaves Postgres is read from the wire: every row of every statement, whatever code sent it. Rows are
// searched for values that a test world plants in hidden memories: ids with a unique prefix, marks in texts, and hashes
// of artifacts.

// left is a planted value in a row that Postgres returned.
type left struct {
	what      string // an id, a mark, or the hexadecimal digits of a hash
	statement *statement
}

// statement is the text of a statement and what the rules for its rows depend on.
type statement struct {
	text       string // without line breaks
	redacting  bool   // it searches for memories to be shown redacted
	successors bool   // it names the successors of memories
	whole      bool   // it reads whole records: only those include the safe summary
	analyses   bool   // it reads the words of a request, and nothing of memories but their languages
}

// statements are the latest ones: a text is searched once, not for each row.
var statements, _ = lru.New[string, *statement](4096) // fails only for a size below 1

// statementOf returns what is known of the text of a statement.
func statementOf(text string) *statement {
	if s, ok := statements.Get(text); ok {
		return s
	}
	plain := strings.Join(strings.Fields(text), " ")
	reads := strings.ReplaceAll(plain, "SELECT m.language FROM memories m WHERE m.tenant = @tenant AND m.live", "")
	s := &statement{text: plain,
		redacting:  strings.Contains(plain, "m.sensitivity, m.created_at, m.occurred_at"),
		successors: strings.Contains(plain, "m.superseded_by AND n."),
		whole:      strings.Contains(plain, "m.safe_summary,"),
		analyses:   strings.Contains(plain, "to_tsvector(") && !strings.Contains(reads, "memories m")}
	if other, found, _ := statements.PeekOrAdd(text, s); found {
		return other // of a concurrent call
	}
	return s
}

// plantedID is the prefix of the ids that the wire is searched for.
var plantedID = [8]byte{0x1e, 0xa4, 0x1e, 0xa4, 0x1e, 0xa4, 0x4e, 0xa4}

// planted makes such an id.
func planted(rest [8]byte) uuid.UUID { return uuid.UUID(append(plantedID[:], rest[:]...)) }

// plantedText is the prefix of such an id as text.
var plantedText = planted([8]byte{}).String()[:len("00000000-0000-0000-")]

// wire is a connection that is observed.
type wire struct {
	net.Conn
	mu         sync.Mutex
	told       *watch
	statements []*statement // of the current batch
	answered   int          // number of them
	pending    []byte       // incomplete message
}

// tap observes the connections of a pool.
func tap(c *pgx.ConnConfig) {
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: conn}, nil
	}
}

// begin is called before statements are sent, when no response is pending.
func (c *wire) begin(w *watch, statements []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told, c.statements, c.answered, c.pending = w, c.statements[:0], 0, c.pending[:0]
	for _, text := range statements {
		c.statements = append(c.statements, statementOf(text))
	}
}

func (c *wire) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.hear(b[:n])
	}
	return n, err
}

// hear splits messages: a type, a length that includes itself, and the body.
func (c *wire) hear(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		return
	}
	c.pending = append(c.pending, b...)
	rest := c.pending
	for len(rest) >= 5 {
		size := 1 + int(binary.BigEndian.Uint32(rest[1:5]))
		if len(rest) < size {
			break
		}
		switch rest[0] {
		case 'D':
			c.row(rest[5:size])
		case 'C', 'I', 'E': // end of a statement
			c.answered++
		}
		rest = rest[size:]
	}
	c.pending = append(c.pending[:0], rest...)
}

// row parses a DataRow: the number of columns, and for each its length (-1 for NULL) and its bytes.
func (c *wire) row(b []byte) {
	from := statementOf("")
	if c.answered < len(c.statements) {
		from = c.statements[c.answered]
	}
	columns := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	for range columns {
		size := int(int32(binary.BigEndian.Uint32(b)))
		b = b[4:]
		if size < 0 {
			continue
		}
		for _, what := range traces(b[:size]) {
			c.told.mu.Lock()
			c.told.left[left{what, from}] = true
			c.told.mu.Unlock()
		}
		b = b[size:]
	}
}

// traces finds planted values in a column's value.
func traces(value []byte) []string {
	var out []string
	for rest := value; ; {
		at := bytes.Index(rest, plantedID[:])
		if at < 0 || len(rest) < at+16 {
			break
		}
		out = append(out, uuid.UUID(rest[at:at+16]).String())
		rest = rest[at+16:]
	}
	for rest := value; ; {
		at := bytes.Index(rest, []byte(plantedText))
		if at < 0 || len(rest) < at+36 {
			break
		}
		out = append(out, string(rest[at:at+36]))
		rest = rest[at+36:]
	}
	if len(value) == 32 {
		out = append(out, hex.EncodeToString(value))
	}
	text := string(value)
	return append(append(out, leakMarks.findAll(text)...), summaryMarks.findAll(text)...)
}
