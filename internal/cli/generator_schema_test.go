package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"greenlight/internal/base/proc"
	"greenlight/internal/cli/debugreport"
	"greenlight/internal/cli/install"
	"greenlight/internal/core/plan"
	"greenlight/internal/run/attempt"
)

// A schemaGenerator generates JSON Schemas from Go types. The library handles types and tags. The
// generator adds facts from the source: a comment becomes a description, the constants of a string
// type its enum, a pointer may be null.
type schemaGenerator struct {
	t       *testing.T
	sources goSources
	enums   map[property][]constant
	used    map[property]bool // the keys of enums that a document has
}

// A property is a key of the object that a struct type becomes.
type property struct {
	of  reflect.Type
	key string
}

func propertyOf[T any](key string) property { return property{reflect.TypeFor[T](), key} }

func newSchemaGenerator(t *testing.T) *schemaGenerator {
	g := &schemaGenerator{t: t, sources: goSources{t: t, packages: map[string]*goSource{}},
		used: map[property]bool{}}
	var tasks []constant
	for _, d := range documents {
		if _, isTask := d.doc.(dryTaskDoc); isTask {
			tasks = append(tasks, constant{value: attempt.TaskID(strings.Fields(d.command)[1])})
		}
	}
	var agents []constant
	for _, name := range install.Agents() {
		agents = append(agents, constant{value: name})
	}
	processes := []constant{{value: proc.Alive.String()}, {value: proc.Dead.String()},
		{value: proc.Unknown.String()}}
	// Fields that are plain strings in Go, or hold only some of the values of their type.
	g.enums = map[property][]constant{
		propertyOf[checkDifference]("what"):            g.sources.block("greenlight/internal/cli/install", "Changed"),
		propertyOf[checkPlace]("agent"):                agents,
		propertyOf[checkPlace]("memory_mode"):          without(g.sources.constants(reflect.TypeFor[install.Conflict]()), string(install.AsBefore)),
		propertyOf[checkPlace]("scope"):                g.sources.constants(reflect.TypeFor[install.Scope]()),
		propertyOf[debugreport.Attempt]("phase"):       without(g.sources.constants(reflect.TypeFor[plan.Phase]()), string(plan.Settled)),
		propertyOf[debugreport.Attempt]("process"):     processes,
		propertyOf[debugreport.TaskAttempt]("process"): processes,
		propertyOf[dryTaskDoc]("task"):                 tasks,
		propertyOf[graphNode]("state"):                 g.sources.block("greenlight/internal/show/graphview", "Done"),
	}
	return g
}

func without(list []constant, value string) []constant {
	return slices.DeleteFunc(slices.Clone(list), func(c constant) bool { return c.value == value })
}

// schema is the schema of a document of type t.
func (g *schemaGenerator) schema(t reflect.Type) *jsonschema.Schema {
	within := false
	r := &jsonschema.Reflector{
		Anonymous:                 true,
		AllowAdditionalProperties: true,
		DoNotReference:            true, // renaming a Go type must not change a schema
		LookupComment:             g.description,
		Mapper: func(part reflect.Type) *jsonschema.Schema {
			if part == t && within {
				return &jsonschema.Schema{Ref: "#"} // status documents contain status documents
			}
			within = true
			if list := g.sources.constants(part); list != nil {
				return &jsonschema.Schema{Type: "string", Enum: enumOf(list)}
			}
			return nil
		},
	}
	s := r.ReflectFromType(t)
	g.refine(t, s)
	return s
}

func enumOf(list []constant) []any {
	var values []any
	for _, c := range list {
		values = append(values, c.value)
	}
	return values
}

// refine adds enums and null to the properties of t's schema.
func (g *schemaGenerator) refine(t reflect.Type, s *jsonschema.Schema) {
	switch {
	case t.Kind() == reflect.Pointer:
		g.refine(t.Elem(), s)
	case t.Kind() == reflect.Slice && s.Items != nil:
		g.refine(t.Elem(), s.Items)
	case t.Kind() == reflect.Struct && s.Properties != nil:
		for i := range t.NumField() {
			f := t.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && key == "" {
				g.refine(f.Type, s)
			} else if p, ok := s.Properties.Get(key); ok {
				g.refine(f.Type, p)
				if list, ok := g.enums[property{t, key}]; ok {
					p.Enum = enumOf(list)
					g.used[property{t, key}] = true
				}
				if f.Type.Kind() == reflect.Pointer {
					g.allowNull(p)
				}
			}
		}
	}
}

// allowNull makes null valid, too. The library's Type holds a single type, so the two go to its
// Extras.
func (g *schemaGenerator) allowNull(s *jsonschema.Schema) {
	if s.Type == "" {
		g.t.Fatalf("%+v has no type that null could be added to", s)
	}
	s.Extras = map[string]any{"type": []string{s.Type, "null"}}
	s.Type = ""
	if s.Enum != nil {
		s.Enum = append(s.Enum, nil)
	}
}

// description is the comment of a field of t, or of the field's type, and those of the values it
// may have. Without a field it is the comment of t.
func (g *schemaGenerator) description(t reflect.Type, field string) string {
	if field == "" {
		return g.sources.comment(t, "")
	}
	f, _ := t.FieldByName(field)
	element := f.Type
	if element.Kind() == reflect.Pointer {
		element = element.Elem()
	}
	text := g.sources.comment(t, field)
	if text == "" && element.Kind() == reflect.Struct {
		text = g.sources.comment(element, "")
	}
	key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	values, ok := g.enums[property{t, key}]
	if !ok {
		values = g.sources.constants(element)
	}
	lines := []string{text}
	for _, c := range values {
		if c.comment != "" {
			lines = append(lines, c.value+": "+c.comment)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
