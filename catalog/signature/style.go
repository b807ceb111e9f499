package signature

// style says how much a printer shows. What a limit leaves out is shown as "…".
type style struct {
	lines    bool // one property a line, comments, named references; else all in one line
	names    bool // references become names, declared once; else what they mean stands in their place
	levels   int  // objects shown inside objects
	props    int  // properties of one nested object
	branches int  // alternatives of one union
	values   int  // literals of one enumeration
	literal  int  // bytes of one literal; an enumeration gets four times as many
	defaults bool // in one line: " = value"
	formats  bool // in one line: string<format>
	optional bool // optional parameters, at the top
	comment  int  // bytes of one description, 0 = none
	tags     bool // constraints in comments
}

// Bounds of what is rendered, in bytes of the answer unless said otherwise.
const (
	MaxLine = 4 << 10  // Parameters and Line
	MaxType = 64 << 10 // Type

	maxParameter = 1200 // one parameter of a signature; a larger one shows fewer levels
	maxLabel     = 200  // a property name; a longer one is not shown
	maxNest      = 64   // schemas inside schemas, of any sort; deeper ones are not read

	// workType bounds the steps of one rendering, workParameter those of one parameter of a signature. Each schema read
	// costs at least workSchema, each byte of a literal, name or comment one. It ends what the other bounds leave, such
	// as a few references that multiply. Time and memory stay in proportion to it.
	workType      = 128 << 10
	workParameter = 8 << 10
	workSchema    = 4
)

// brief are the styles of a signature, from the fullest to the barest.
var brief = []style{
	{levels: 2, props: 16, branches: 12, values: 20, literal: 80, defaults: true, formats: true, optional: true},
	{levels: 1, props: 12, branches: 8, values: 10, literal: 40, defaults: true, formats: true, optional: true},
	{levels: 0, props: 0, branches: 6, values: 6, literal: 20, optional: true},
	{levels: 0, props: 0, branches: 3, values: 3, literal: 10},
}

// wide are the styles of a full type, from the fullest to the barest.
var wide = []style{
	{lines: true, names: true, levels: maxNest, props: 1 << 20, branches: 200, values: 500, literal: 2000, comment: 4000, tags: true},
	{lines: true, names: true, levels: maxNest, props: 1 << 20, branches: 200, values: 100, literal: 300, comment: 300, tags: true},
	{lines: true, levels: 3, props: 60, branches: 20, values: 30, literal: 100, comment: 160, tags: true},
	{lines: true, levels: 2, props: 40, branches: 12, values: 20, literal: 60, comment: 120, tags: true},
	{lines: true, levels: 1, props: 40, branches: 8, values: 12, literal: 60, comment: 100, tags: true},
	{lines: true, levels: 1, props: 40, branches: 8, values: 8, literal: 40},
	{lines: true, levels: 0, props: 0, branches: 4, values: 4, literal: 20},
}
