package sensitive_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mneme/mneme/memory/memorytest"
	"github.com/mneme/mneme/memory/sensitive"
	"github.com/mneme/mneme/schema"
)

// These are not real secrets. Keys are assembled from parts so that secret scanners do not report this file.
func TestDetectSensitive(t *testing.T) {
	t.Parallel()
	random := "q7Rt2VbX9kLmZ4pW8sYc3NfH6jDg5TaE1uQo"
	for kind, texts := range map[string][]string{
		sensitive.DetectedPrivateKey: {
			"-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE", "here: -----BEGIN " + "PRIVATE KEY-----",
			"-----BEGIN PGP " + "PRIVATE KEY BLOCK-----",
			"-----BEGIN OPENSSH " + "PRIVATE KEY-----",
		},
		sensitive.DetectedAPIKey: {
			"AKIA" + "Z7QX3M2N8P4R5T6V", "use ghp_" + random, "(gho_" + random + ")", "github_pat_" + random + random,
			"glpat-" + random[:20],
			"xoxb-" + "1234567890-" + random, "sk_" + "live_" + random[:24], "key: AIza" + random[:35],
			"OPENAI: sk-" + "proj-" + random, "sk-" + "ant-" + random,
			"npm_" + random, "hf_" + random,
		},
		sensitive.DetectedToken: {
			"eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.sig", "Authorization: Bearer " + random,
			"authorization: Basic dXNlcjE6aHVudGVyMjIyMw==",
		},
		sensitive.DetectedPassword: {
			"The password is hunter2x.", "my wifi password: Tr0ub4dor&3", "password=s3cr3tpw9", "DB_PASSWORD=swordfish",
			`{"password": "swordfish"}`,
			"The password for the guest wifi is BlueHorse42", "Passwort? passwd = abc12345", "the passcode is 4821",
			"My PIN is 4821", "**Password:** `hunter2x`",
			`the passphrase is "correct horse battery staple"`, "password: correct-horse-battery-staple",
			"I changed the password to N3wPass99!", "PASSWORD IS HUNTER2X",
			"Password:\nhunter2x",
		},
		sensitive.DetectedSecret: {
			"The API key is " + random[:20], "client_secret=" + random[:24], `"access_token": "` + random + `"`,
			"STRIPE_KEY=" + random[:24],
			"The API key for Stripe is " + random, "AWS_SECRET_ACCESS_KEY=" + random,
			"token: 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b",
		},
		sensitive.DetectedConnectionString: {"postgres://app:h4rdt0guess@db.internal:5432/x", "amqp://u:pa@ss9x@mq/v",
			"see redis://:longvalue9@cache"},
		sensitive.DetectedPaymentCard: {"4111 1111 1111 1111", "card 4111-1111-1111-1111.", "5500005555555559",
			"3782 822463 10005", "12 4111 1111 1111 1111", "CVV: 123"},
		sensitive.DetectedIBAN: {"DE89 3704 0044 0532 0130 00", "IBAN GB29NWBK60161331926819.",
			"FR1420041010050500013M02606"},
		sensitive.DetectedBankAccount: {"bank account number is 12345678", "routing number: 021000021",
			"Sort code: 12-34-56"},
		sensitive.DetectedSSN: {"536-90-4399", "her SSN is 536904399", "social security number: 536 90 4399"},
		sensitive.DetectedIdentity: {"passport number X1234567", "Passport: C01X00T47",
			"driver's license number is D1234567", "national insurance number: QQ123456C"},
		sensitive.DetectedEmail: {"write to ann.lee+x@mail.example.org", "<bob@acme.io>",
			"Bob's address is bob@acme.co.uk."},
		sensitive.DetectedPhone: {
			"+49 30 901820", "call +14155552671", "+1 (415) 555-2671", "(415) 555-2671", "415-555-2671", "415.555.2671",
			"1-415-555-2671",
			"my phone number is 555-1234", "Tel: 030 901820", "mobile 07700 900123",
		},
		sensitive.DetectedAddress: {"She lives at 12 Oak Street", "Ship it to 221 Old Mill Road, please",
			"4500 Sunset Boulevard."},
	} {
		for _, text := range texts {
			level, kinds := sensitive.Detect(text)
			require.Contains(t, kinds, kind, text)
			require.Contains(t, []schema.Sensitivity{schema.SensitivityMedium, schema.SensitivityHigh,
				schema.SensitivityHyper}, level)
		}
	}
}

func TestDetectSensitiveIgnoresOrdinaryText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "Tea is hot.", "The password is required.", "Password: must be at least 8 characters",
		"I forgot my password again", "The password is wrong, was 3rd try",
		"password-protected files", "passwords are hashed with bcrypt10", "password: ********",
		"PASSWORD=<your-password>", "password = os.Getenv(\"DB_PASSWORD\")",
		"password=${DB_PASSWORD}", "password: string", `{"password": "string"}`, "connect(password=password)",
		"The secret is to start early", "the secret is consistency2",
		"token = response.json()", "The token is valid for 30 minutes", "max_tokens: 128000", "token_count=4096",
		"the token is 256-bit", "The secret of 1984 is out",
		"secretary: Ann 12345678901234", "the tokenizer is fast", "api key: YOUR_API_KEY_1234567890",
		"the key is under the mat", "shipping is 2021",
		"her spin is 4821", "PIN is 2019", "bearer of bad news 2020-2021-2022", "https://example.org/a?b=c",
		"postgres://user:password@localhost/db", "http://host:8080/@x",
		"git@github.com:mneme/mneme.git", "icon@2x.png", "@alice and @bob", "a @ b", "pkg@1.2.3",
		"see https://ann@host.example.org/x",
		"1234 5678 9012 3456", "4111 1111 1111 1112", "order 1700000000000000", "0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b",
		"978-0-306-40615-7", "$4111111111111111",
		"DE89 3704 0044 0532 0130 01", "ISO 27001", "on 2024-05-08T12:30:00Z", "192.168.100.200", "100-200-3000",
		"000-12-3456", "the passport is 20 years old",
		"passport control on 20250101", "bank account is empty", "version 1.2.3.4567", "+1 point", "C++11 and C++17",
		"diff +12 -3", "+5 degrees", "up +20% since 2019",
		"the phone in 2019 cost 1200", "room 415", "12 Angry Men", "20 Google Drive files", "3 Wall Street analysts",
		"in 2023 Main Street reopened.", "Version 12 Release",
		"chapter 3 Verse 16", "300 400 5000", "Use of the AKIA prefix", "sk-learn-like-hyphenated-name",
		"eyJ is how they begin", "-----BEGIN CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----", "commit 3f2a9c8b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"cache_key=user:123:profile", "foreign_key: 0198c3f2-6f7d-7cc1-a1b0-5a2f0e3d4c5b",
	} {
		level, kinds := sensitive.Detect(text)
		require.Empty(t, kinds, text)
		require.Equal(t, schema.SensitivityLow, level, text)
	}
}

func TestDetectSensitiveReturnsHighestClass(t *testing.T) {
	t.Parallel()
	level, kinds := sensitive.Detect("ann@acme.io, 4111 1111 1111 1111, password: hunter2x, bob@acme.io")
	require.Equal(t, schema.SensitivityHyper, level)
	require.Equal(t, []string{"password", "payment_card", "email"}, kinds)
	level, kinds = sensitive.Detect("ann@acme.io, 4111 1111 1111 1111")
	require.Equal(t, schema.SensitivityHigh, level)
	require.Equal(t, []string{"payment_card", "email"}, kinds)
}

func TestDetectSensitiveProperties(t *testing.T) {
	t.Parallel()
	fragment := rapid.SampledFrom([]string{"password", "token", "is", "=", ":", " ", "\n", "\"", "'", "@", ".", "+",
		"-", "4111 1111", "(415)", "DE89", "://", "eyJ", "sk-",
		"-----BEGIN ", "ß", "\u2028", "\x80", "a1", "for the", "bank account", "passport number", "phone", "12 Oak",
		"Street"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(fragment, 0, 40).Draw(t, "fragments"),
			"") + memorytest.AnyText().Draw(t, "text")
		level, kinds := sensitive.Detect(text)
		require.True(t, level.Valid())
		require.Equal(t, len(kinds) == 0, level == schema.SensitivityLow)
		again, same := sensitive.Detect(text)
		require.Equal(t, level, again)
		require.Equal(t, kinds, same)
		withSecret, more := sensitive.Detect(text + " \n\"\n. password: hunter2x")
		require.Equal(t, schema.SensitivityHyper, withSecret)
		require.Contains(t, more, sensitive.DetectedPassword)
	})
}

// Scanning takes linear time: milliseconds. A scan quadratic in any of these units would take minutes.
func TestDetectSensitiveIsLinear(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"a", "1", "1 ", "1-", "1.", "+", "+1 ", "@", "a@", "a.", "a@a.", "://", "a://b:c",
		"eyJ", "eyJa.eyJ", "sk-", "sk-a", "password", "password ", "password is ",
		"password:\"", "password for ", "token=", "pin is ", "-----BEGIN ", "DE89", "D", "bearer ", "AKIA", "12 Oak ",
		"(", "\"", "passport number ", "routing number ", "_KEY=", "cvv ",
		"1111-1111-1111-1111-", "phone 1 ", "ssn 1-", "ghp_a", " ", "\x00", "ß", "xoxb-", "a=", "api key api key",
		"Street "} {
		text := strings.Repeat(unit, schema.MaxContentBytes/len(unit))
		began := time.Now()
		sensitive.Detect(text)
		require.Less(t, time.Since(began), 30*time.Second, "a text of %q", unit)
	}
}

// Everyday engineering text, with addresses, hosts, versions and times, contains no secrets.
func TestDetectSensitiveIgnoresEngineeringText(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../../scripts/demo-data/transcript.jsonl")
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	texts := 0
	for lines := bufio.NewScanner(file); lines.Scan(); texts++ {
		var c schema.Candidate
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		level, kinds := sensitive.Detect(c.Content)
		require.Equal(t, schema.SensitivityLow, level, "%v in line %d", kinds, texts+1)
	}
	require.Greater(t, texts, 60)
}

func BenchmarkDetectSensitive(b *testing.B) {
	text := strings.Repeat("Ann told me on Tuesday, May 8, that the 3 servers in hall 12 were moved, and that nobody "+
		"had written down why. ", 2300)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		sensitive.Detect(text)
	}
}
