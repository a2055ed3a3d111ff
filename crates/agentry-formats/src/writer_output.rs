//! The result of a writer, and its destination.

use agentry_model::ConversionLoss;
use agentry_policy::PolicyContext;

/// The destination of a writer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteTarget {
    /// The name of the file, or of the directory, that the user asked for.
    pub name: String,
    /// Whether that is a file or a directory, for formats that can be either.
    pub shape: OutputShape,
    /// The directories of the source, to turn its relative paths into patterns.
    pub place: PolicyContext,
}

/// One file, or a directory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OutputShape {
    /// One file.
    #[default]
    File,
    /// A directory of files.
    Directory,
}

/// The files of a written agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WrittenFiles {
    /// Paths with their texts; the main file first. For a single-file format the path is the file's
    /// name, for the others it is relative to the agent's directory.
    pub files: Vec<(String, String)>,
    /// Changes that the writer reports itself: a policy that was narrowed, a value that had to be
    /// invented. All other losses are found by reading the result again.
    pub notes: Vec<ConversionLoss>,
}
