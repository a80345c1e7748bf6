package config

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// encodingEncrypted marks a payload that encryptingCodec made.
const encodingEncrypted = "binary/mneme-aes-256-gcm"

// encryptingCodec encrypts payloads with AES-256-GCM and one key. Each payload has a new nonce.
type encryptingCodec struct{ aead cipher.AEAD }

func newEncryptingCodec(key []byte) (*encryptingCodec, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("payload key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("payload key: %w", err)
	}
	return &encryptingCodec{aead: aead}, nil
}

// Encode implements converter.PayloadCodec.
func (c *encryptingCodec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("encode payload: %w", err)
		}
		nonce := make([]byte, c.aead.NonceSize())
		if _, err := rand.Read(nonce); err != nil {
			return nil, fmt.Errorf("encode payload: %w", err)
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encodingEncrypted)},
			Data:     c.aead.Seal(nonce, nonce, plain, []byte(encodingEncrypted)),
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
		n := c.aead.NonceSize()
		if len(p.GetData()) < n {
			return nil, errors.New("decode payload: too short")
		}
		plain, err := c.aead.Open(nil, p.GetData()[:n], p.GetData()[n:], []byte(encodingEncrypted))
		if err != nil {
			return nil, errors.New("decode payload: it was encrypted with another key")
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, fmt.Errorf("decode payload: %w", err)
		}
	}
	return out, nil
}
