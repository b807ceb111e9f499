package builtin

const emptySchema = `{"type": "object", "additionalProperties": false, "properties": {}}`

const describeOutput = `{
"type": "object", "required": ["table", "rows", "columns"],
"properties": {
	"table": {"type": "string"},
	"rows": {"type": "integer"},
	"columns": {"type": "array", "items": {"type": "object", "required": ["name", "type", "description"], "properties": {
		"name": {"type": "string"}, "type": {"type": "string"}, "description": {"type": "string"},
		"values": {"type": "array", "items": {"type": "string"}, "description": "The values that occur, where they are few"}
	}}}
}}`

const queryRowsSchema = `{
"type": "object", "additionalProperties": false,
"properties": {
	"rows": {"type": "integer", "minimum": 0, "default": 100, "description": "Most rows to return"},
	"offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Matching rows to pass over first"},
	"columns": {"type": "array", "items": {"type": "string", "enum": ["id", "customer", "country", "amount", "items", "status", "created", "email", "note"]}, "description": "Columns to return; all if absent"},
	"filter": {"type": "object", "additionalProperties": false, "description": "Only rows that meet all of these", "properties": {
		"country": {"type": "string", "enum": ["DE", "ES", "FR", "GB", "IT", "NL", "PL", "PT", "SE", "US"]},
		"status": {"type": "string", "enum": ["cancelled", "delivered", "paid", "pending", "refunded", "shipped"]},
		"customer": {"type": "string", "description": "Part of the customer's name"},
		"minAmount": {"type": "number", "description": "Amount in EUR at least"},
		"maxAmount": {"type": "number", "description": "Amount in EUR at most"},
		"from": {"type": "string", "description": "Placed at or after this date or time, such as 2024-05-01"},
		"to": {"type": "string", "description": "Placed before this date or time"}
	}}
}}`

const aggregateSchema = `{
"type": "object", "additionalProperties": false, "required": ["rows"],
"properties": {
	"rows": {"type": "array", "items": {"type": "object"}, "description": "The records to count and sum"},
	"groupBy": {"type": "string", "description": "Column to group by; none gives the total only"},
	"sum": {"type": "string", "description": "Numeric column to sum, with minimum, maximum and mean"}
}}`

const aggregateOutput = `{
"type": "object", "required": ["total"],
"properties": {
	"total": {"type": "object", "required": ["count"], "properties": {"count": {"type": "integer"}, "sum": {"type": "number"}, "min": {"type": "number"}, "max": {"type": "number"}, "mean": {"type": "number"}}},
	"groupBy": {"type": "string"},
	"sum": {"type": "string"},
	"groups": {"type": "array", "description": "Largest first", "items": {"type": "object", "required": ["key", "count"], "properties": {"key": {"type": "string"}, "count": {"type": "integer"}, "sum": {"type": "number"}, "min": {"type": "number"}, "max": {"type": "number"}, "mean": {"type": "number"}}}},
	"groupsLeftOut": {"type": "integer", "description": "Groups beyond the first 1,000"}
}}`

const logSchema = `{
"type": "object", "additionalProperties": false,
"properties": {
	"lines": {"type": "integer", "minimum": 0, "default": 200, "description": "Most lines to return"},
	"offset": {"type": "integer", "minimum": 0, "default": 0, "description": "Matching lines to pass over first"},
	"level": {"type": "string", "enum": ["DEBUG", "INFO", "WARN", "ERROR"], "description": "Only lines of this level and above"}
}}`
