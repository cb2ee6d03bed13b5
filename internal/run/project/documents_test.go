package project

import (
	"encoding/json"
	"testing"

	"greenlight/internal/core/plan"
)

// The documents have null for unknown values, and lists are never null.
func TestItems(t *testing.T) {
	tests := []struct {
		item any
		want string
	}{
		{Setting{Key: "a"}.Item(), `{"key":"a","value":null,"source":null,"default":null,"about":null}`},
		{Setting{Key: "a", Value: json.RawMessage("1")}.Item(), `{"key":"a","value":1,"source":"default","default":null,"about":null}`},
		{Setting{Key: "a", Value: json.RawMessage("1"), File: true}.Item(), `{"key":"a","value":1,"source":"config","default":null,"about":null}`},
		{WarningItems(nil), `[]`},
		{WarningItems([]plan.Warning{{Message: "m"}, {Path: "p", Message: "m"}}), `[{"path":null,"message":"m"},{"path":"p","message":"m"}]`},
	}
	for _, tt := range tests {
		if got, err := json.Marshal(tt.item); err != nil || string(got) != tt.want {
			t.Errorf("%s, %v, want %s", got, err, tt.want)
		}
	}
}
