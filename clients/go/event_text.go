package tidings

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The server's limits, in characters; of tags, how many.
const (
	nameMax        = 200
	userIDMax      = 200
	descriptionMax = 10_000
	tagsMax        = 50
	tagKeyMax      = 64
	tagValueMax    = 1_000
)

var (
	spaces = regexp.MustCompile(`\s+`)
	fences = regexp.MustCompile("`+")
)

// fitLine returns a text as the server accepts it for a name or a key: on one line, and cut.
func fitLine(text string, max int) string {
	return cut(withoutControls(spaces.ReplaceAllString(text, " "), ""), max)
}

// fitLines does the same for a text that may have several lines: a tag's value or a description.
func fitLines(text string, max int) string {
	return cut(withoutControls(text, "\t\n\r"), max)
}

// codeBlock returns a Markdown code block that fits into a description, in which nothing of the text is Markdown.
func codeBlock(text string) string {
	longest := 2
	for _, fence := range fences.FindAllString(text, -1) {
		if len(fence) > longest {
			longest = len(fence)
		}
	}
	if longest > 100 {
		// A text with such a fence is no stack trace; its quotes can go.
		return codeBlock(strings.ReplaceAll(text, "`", "'"))
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + fitLines(text, descriptionMax-2*(len(fence)+1)) + "\n" + fence
}

// withoutControls replaces control characters (C0, DEL and C1) and what is not UTF-8.
func withoutControls(text, allowed string) string {
	return strings.Map(func(r rune) rune {
		if (r < 0x20 || r >= 0x7f && r <= 0x9f) && !strings.ContainsRune(allowed, r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, string(utf8.RuneError)))
}

func cut(text string, max int) string {
	if utf8.RuneCountInString(text) <= max {
		return text
	}
	return string([]rune(text)[:max-1]) + "…"
}
