package builtin

const querySchema = `{
"type": "object", "additionalProperties": false,
"properties": {
	"operation": {"type": "string", "enum": ["read", "list", "search", "glob", "info"], "default": "read", "description": "read: contents of a file; list: entries of a folder; search: lines of files that match pattern; glob: paths that match pattern; info: size, type and times"},
	"path": {"type": "string", "description": "File or folder, absolute or relative to the first allowed folder. Required for read and info; otherwise the first allowed folder if absent"},
	"pattern": {"type": "string", "description": "search: text to look for; glob: path pattern such as *.md or src/**/*.go"},
	"regex": {"type": "boolean", "default": false, "description": "search: pattern is an RE2 regular expression"},
	"caseSensitive": {"type": "boolean", "default": false, "description": "search: upper and lower case differ"},
	"recursive": {"type": "boolean", "description": "Go into subfolders (list: default false; search and glob: default true)"},
	"includeHidden": {"type": "boolean", "default": false, "description": "Include names that begin with a dot"},
	"maxResults": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 1000, "description": "Most entries or matches to return"},
	"lineStart": {"type": "integer", "minimum": 1, "description": "read: first line, counted from 1"},
	"lineEnd": {"type": "integer", "minimum": 1, "description": "read: last line, inclusive"},
	"maxLines": {"type": "integer", "minimum": 1, "description": "read: most lines to return"},
	"countLines": {"type": "boolean", "default": false, "description": "read: only count the lines"},
	"byteStart": {"type": "integer", "minimum": 0, "description": "read: first byte, counted from 0"},
	"byteEnd": {"type": "integer", "minimum": 0, "description": "read: last byte, inclusive"},
	"byteLength": {"type": "integer", "minimum": 1, "description": "read: number of bytes from byteStart"},
	"encoding": {"type": "string", "enum": ["utf-8", "base64"], "default": "utf-8", "description": "read: base64 for files that are not text"},
	"compact": {"type": "boolean", "default": false, "description": "list: leave the times out"}
}}`

const modifySchema = `{
"type": "object", "additionalProperties": false, "required": ["operation", "path"],
"properties": {
	"operation": {"type": "string", "enum": ["write", "append", "edit", "delete"], "description": "write: replace or create a file; append: add at its end; edit: replace pattern by replacement; delete: remove a file or folder"},
	"path": {"type": "string", "description": "File or folder, absolute or relative to the first allowed folder"},
	"content": {"type": "string", "description": "write and append: the text"},
	"createMissingDirs": {"type": "boolean", "default": true, "description": "write and append: create missing parent folders"},
	"pattern": {"type": "string", "description": "edit: what to replace"},
	"replacement": {"type": "string", "description": "edit: the new text; with regex, $1 is the first group"},
	"regex": {"type": "boolean", "default": false, "description": "edit: pattern is an RE2 regular expression"},
	"caseSensitive": {"type": "boolean", "default": true, "description": "edit: upper and lower case differ"},
	"maxReplacements": {"type": "integer", "minimum": 1, "description": "edit: replace at most so many, from the beginning"},
	"requireMatch": {"type": "boolean", "default": true, "description": "edit: fail when pattern is not found"},
	"confirm": {"type": "boolean", "description": "delete: must be true"},
	"recursive": {"type": "boolean", "default": false, "description": "delete: also a folder that is not empty"}
}}`

const modifyOutput = `{
"type": "object", "required": ["operation", "path"],
"properties": {
	"operation": {"type": "string"},
	"path": {"type": "string"},
	"size": {"type": "integer", "description": "Bytes of the file afterwards"},
	"created": {"type": "boolean", "description": "The file did not exist before"},
	"replacements": {"type": "integer", "description": "How many were replaced"}
}}`

const timeSchema = `{
"type": "object", "additionalProperties": false,
"properties": {
	"timezone": {"type": "string", "default": "UTC", "description": "IANA time zone, such as Europe/Lisbon"}
}}`

const timeOutput = `{
"type": "object", "required": ["time", "timezone", "weekday", "unix"],
"properties": {
	"time": {"type": "string", "format": "date-time"},
	"timezone": {"type": "string"},
	"weekday": {"type": "string"},
	"unix": {"type": "integer", "description": "Seconds since 1970-01-01 UTC"}
}}`

const initSchema = `{
"type": "object", "additionalProperties": false,
"properties": {
	"root": {"type": "string", "description": "A folder to check"},
	"readwrite": {"type": "boolean", "default": false, "description": "With root: check that it may be written to"}
}}`

const initOutput = `{
"type": "object", "required": ["roots", "readwrite", "maxBytes"],
"properties": {
	"roots": {"type": "array", "items": {"type": "string"}, "description": "Allowed folders; relative paths start at the first"},
	"root": {"type": "string", "description": "The folder asked about"},
	"readwrite": {"type": "boolean", "description": "Files may be changed"},
	"maxBytes": {"type": "integer", "description": "Most bytes one call reads or writes"}
}}`
