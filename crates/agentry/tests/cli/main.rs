//! The program as a person meets it: the real binary, whole outputs, exit codes.

mod baseline;
mod check;
mod config;
mod convert;
mod fix;
mod generated;
mod hash;
mod help;
mod hostile;
mod new;
mod rules;
mod schema;
mod search;
mod shell;
mod show;
mod test;
