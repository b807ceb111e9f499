package everything

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
)

// seal makes a request state that open gives back, and that nobody else can make.
func (s *state) seal(text string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString([]byte(text)) + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s *state) open(sealed string) (string, error) {
	head, _, _ := strings.Cut(sealed, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil || !hmac.Equal([]byte(sealed), []byte(s.seal(string(text)))) {
		return "", invalid("the request state was not made here")
	}
	return string(text), nil
}
