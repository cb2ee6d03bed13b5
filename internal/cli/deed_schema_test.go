package cli

var deedSchemas = map[string][]string{}
