package minia

import (
	"errors"
	"strings"
)

// splitWords splits a command line into words as a POSIX shell does: blanks separate, single quotes
// keep everything, double quotes keep blanks, a backslash keeps the next character (within double
// quotes only before " \ $ ` and newline). Nothing is expanded and no operator has a meaning.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\'' || c == '"':
			n, err := quotedPart(&word, line[i:])
			if err != nil {
				return nil, err
			}
			i += n - 1
			inWord = true
		case c == '\\':
			if i++; i == len(line) {
				return nil, errors.New("the line ends after a backslash")
			}
			if line[i] != '\n' {
				word.WriteByte(line[i])
				inWord = true
			}
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// quotedPart reads the quoted text that rest starts with and returns its length, quotes included.
func quotedPart(word *strings.Builder, rest string) (int, error) {
	quote := rest[0]
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == quote:
			return i + 1, nil
		case c == '\\' && quote == '"' && i+1 < len(rest) && strings.IndexByte("\"\\$`\n", rest[i+1]) >= 0:
			i++
			if rest[i] != '\n' {
				word.WriteByte(rest[i])
			}
		default:
			word.WriteByte(c)
		}
	}
	return 0, errors.New("a quote is never closed")
}
