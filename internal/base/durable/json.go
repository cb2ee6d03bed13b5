package durable

import (
	"encoding/json"
	"fmt"
)

// WriteJSON is WriteFile for a value as indented JSON, in a file that only its user may read.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(path, append(data, '\n'), 0o600)
}

// ReadJSON reads a file that WriteJSON has written into v. Its errors name the path.
func ReadJSON(path string, v any) error {
	data, err := ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
