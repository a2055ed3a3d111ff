//! A field table as JSON Schema 2020-12, for editors.
