package catalog

import (
	"encoding/json"
	"errors"

	"github.com/proxy-dispatch/proxy-dispatch/rawjson"
)

const maxInstructions = 64 << 10 // bytes of a server's instructions kept

// readHello fills s from a raw initialize or discover result. The parts kept share its memory.
func (s *Server) readHello(raw json.RawMessage) error {
	if !rawjson.Valid(raw) || raw[rawjson.Space(raw, 0)] != '{' {
		return errors.New("read hello: result is not a JSON object")
	}
	s.hello = raw
	for key, v := range rawjson.Members(raw) {
		switch key {
		case "serverInfo":
			s.Info = present(v)
		case "instructions":
			s.Instructions = shown(v, maxInstructions)
		case "capabilities":
			s.Capabilities = present(v)
		case "protocolVersion":
			s.ProtocolVersion = shown(v, maxTitle)
		case "supportedVersions":
			for first := range rawjson.Elements(v) { // newest first
				s.ProtocolVersion = shown(first, maxTitle)
				break
			}
		}
	}
	return nil
}
