package config

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// Encrypt makes a client encrypt its payloads with the key, and decrypt those of the other keys too. With an empty key
// it only decrypts; without any it changes nothing.
func Encrypt(options *client.Options, key []byte, others ...[]byte) error {
	if len(key) == 0 && len(others) == 0 {
		return nil
	}
	codec, err := newEncryptingCodec(key, others...)
	if err != nil {
		return err
	}
	options.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
	options.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: options.DataConverter, EncodeCommonAttributes: len(key) > 0,
	})
	return nil
}

// encodingEncrypted marks a payload that encryptingCodec made.
const encodingEncrypted = "binary/mneme-aes-256-gcm"

// encryptingCodec encrypts payloads with AES-256-GCM. Each payload has a new nonce.
type encryptingCodec struct {
	seal cipher.AEAD   // encrypts; nil: payloads stay as they are
	open []cipher.AEAD // decrypt: seal and those of further keys
}

// newEncryptingCodec returns a codec that encrypts with key, if there is one, and decrypts what key or one of the
// others has encrypted.
func newEncryptingCodec(key []byte, others ...[]byte) (*encryptingCodec, error) {
	var c encryptingCodec
	var err error
	if len(key) > 0 {
		if c.seal, err = newAEAD(key); err != nil {
			return nil, err
		}
		c.open = append(c.open, c.seal)
	}
	for _, other := range others {
		aead, err := newAEAD(other)
		if err != nil {
			return nil, err
		}
		c.open = append(c.open, aead)
	}
	return &c, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("payload key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("payload key: %w", err)
	}
	return aead, nil
}

// Encode implements converter.PayloadCodec.
func (c *encryptingCodec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if c.seal == nil {
		return payloads, nil
	}
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encode payload: %w", err)
		}
		nonce := make([]byte, c.seal.NonceSize())
		if _, err := rand.Read(nonce); err != nil {
			return nil, fmt.Errorf("encode payload: %w", err)
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingEncrypted)},
			Data:     c.seal.Seal(nonce, nonce, plain, []byte(encodingEncrypted)),
		}
	}
	return out, nil
}

// Decode implements converter.PayloadCodec. It accepts unencrypted payloads, so that runs that began before the key was
// set can finish.
func (c *encryptingCodec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encodingEncrypted {
			out[i] = p
			continue
		}
		plain, err := c.decrypt(p.GetData())
		if err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, fmt.Errorf("decode payload: %w", err)
		}
	}
	return out, nil
}

// decrypt tries each key. The error does not tell a modified payload from one of another key.
func (c *encryptingCodec) decrypt(data []byte) ([]byte, error) {
	for _, aead := range c.open {
		n := aead.NonceSize()
		if len(data) < n {
			return nil, errors.New("decode payload: too short")
		}
		if plain, err := aead.Open(nil, data[:n], data[n:], []byte(encodingEncrypted)); err == nil {
			return plain, nil
		}
	}
	return nil, errors.New("decode payload: it was encrypted with another key")
}

// key reads 32 bytes in base64.
func (r *reader) key(name string) []byte {
	v := os.Getenv(name)
	if v == "" {
		return nil
	}
	key, ok := decodeKey(v)
	if !ok {
		r.problems = append(r.problems, name+" must be 32 bytes in base64")
	}
	return key
}

func decodeKey(v string) (key []byte, ok bool) {
	key, err := base64.StdEncoding.DecodeString(v)
	if err != nil || len(key) != 32 {
		return nil, false
	}
	return key, true
}

// keys reads keys of 32 bytes in base64, separated by commas.
func (r *reader) keys(name string) (out [][]byte) {
	for v := range strings.SplitSeq(os.Getenv(name), ",") {
		v = strings.TrimSpace(v)
		if v == "" {
			continue
		}
		key, ok := decodeKey(v)
		if !ok {
			r.problems = append(r.problems, name+" must be keys of 32 bytes in base64, separated by commas")
			return nil
		}
		out = append(out, key)
	}
	return out
}
