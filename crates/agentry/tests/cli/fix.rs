//! fix
