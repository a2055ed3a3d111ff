//! Everything that the data files say about one program.

use crate::hazard::{CommandHazard, DashMeaning};
use crate::operands::{OperandKind, OperandRow};
use crate::options::GlobalOption;
use crate::wrapper::{RunnerRow, WrapperRow};

/// Words of a data file, separated by white space.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordList(pub &'static str);

impl WordList {
    /// Each word.
    pub fn iter(self) -> impl Iterator<Item = &'static str> + Clone {
        self.0.split_ascii_whitespace()
    }

    /// Whether `word` is one of them.
    pub fn has(self, word: &str) -> bool {
        self.iter().any(|own| own == word)
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

/// The facts of one program: the sum of all blocks that name it.
#[derive(Debug, Default)]
pub struct ProgramFacts {
    /// Its base name.
    pub name: &'static str,
    /// `is:`
    pub traits: Vec<ProgramTrait>,
    /// `shell:`
    pub shell: Option<ShellKind>,
    /// `syntax:`
    pub syntax: Option<InnerSyntax>,
    /// `same-program:` every name that it is installed under, its own included.
    pub same_program: Vec<&'static str>,
    /// `synonyms:` groups of subcommands with the same meaning, in one word or more.
    pub synonyms: Vec<Vec<&'static str>>,
    /// `synonyms-of:` the program whose subcommands it takes.
    pub synonyms_of: Option<&'static str>,
    /// `files:` what it does to files, for some subcommands or for all others.
    pub files: Vec<(WordList, FileRow)>,
    /// `lists:` options with which an archive is only looked at.
    pub lists: WordList,
    /// `writing:` starts of options with which even a reading subcommand writes.
    pub writing: WordList,
    /// `approval:` subcommands whose approval covers other arguments.
    pub approval: WordList,
    /// `global flag:` and its like: options before the subcommand.
    pub globals: Vec<GlobalOption>,
    /// `directory:` global options that say where it runs.
    pub directory: WordList,
    /// `dashes:` what a bare `--` means, for some subcommands or for all.
    pub dashes: Vec<(WordList, DashMeaning)>,
    /// `own-rule …:` options that an allow rule must name.
    pub hazards: Vec<CommandHazard>,
    /// `operands:` which arguments are files, for some subcommands or for all.
    pub(crate) operands: Vec<OperandRow>,
    /// `discards:` pairs of a short and a long option whose output may go nowhere.
    pub discards: WordList,
    /// `methods:` the short and the long option with the method of a request.
    pub methods: WordList,
    /// `no-effect […]:` options that change nothing behind these words.
    pub no_effect: Vec<(WordList, WordList)>,
    /// `wraps:` how it runs another command.
    pub wrappers: Vec<WrapperRow>,
    /// `runner:` the same where its options are not known.
    pub runners: Vec<RunnerRow>,
    /// Examples: a command line, and its effects.
    pub examples: Vec<(&'static str, &'static str)>,
    /// Rows that could not be read. A test keeps this empty.
    pub malformed: Vec<&'static str>,
}

impl ProgramFacts {
    /// Whether it has this trait.
    pub fn has(&self, wanted: ProgramTrait) -> bool {
        self.traits.contains(&wanted)
    }

    /// What it does to files with this subcommand.
    pub fn file_row(&self, subcommand: Option<&str>) -> Option<FileRow> {
        let own = |(list, _): &&(WordList, FileRow)| subcommand.is_some_and(|it| list.has(it));
        let rest = || self.files.iter().find(|(list, _)| list.is_empty());
        self.files.iter().find(own).or_else(rest).map(|(_, row)| *row)
    }

    /// What a bare `--` means with this subcommand.
    pub fn dashes(&self, subcommand: Option<&str>) -> DashMeaning {
        let own = |list: &WordList| list.is_empty() || subcommand.is_some_and(|it| list.has(it));
        let found = self.dashes.iter().find(|(list, _)| own(list));
        found.map_or(DashMeaning::EndAfterOperand, |(_, meaning)| *meaning)
    }

    /// Whether it changes the files that its operands name.
    pub fn changes_operands(&self) -> bool {
        let in_place = |row: &OperandRow| !row.in_place.is_empty();
        self.file_row(None) == Some(FileRow::Writes) || self.operands.iter().any(in_place)
    }

    /// Whether it writes files that stand anywhere among its arguments.
    pub fn writes_arguments(&self) -> bool {
        let saves = |row: &OperandRow| row.kind == OperandKind::Web;
        self.changes_operands()
            || self.file_row(None).is_some_and(FileRow::is_copy)
            || self.operands.iter().any(saves)
    }
}

/// Defines an enum whose variants are words of the data files.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// The variant that a word of a data file stands for.
            pub(crate) fn read(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// A fact that needs no value.
    ProgramTrait {
        /// A command line can give it other names for its subcommands: `git -c alias.x=push x`.
        Aliases = "aliases",
        /// With any arguments that need no rule of their own it does no more than read, so that an
        /// approval of one covers the others.
        ApprovedWhole = "approved-whole",
        /// The value of an option is a file only behind `@`: `curl -d @file`.
        AtFiles = "at-files",
        /// A command of the shell that changes the directory.
        ChangesDirectory = "changes-directory",
        /// `PROGRAM-x` is `PROGRAM x`: `git-push`.
        Dashed = "dashed",
        /// A command of the shell that takes assignments as arguments.
        Declares = "declares",
        /// Given a directory it touches nothing in it, or only shows what it is.
        DirectoryItself = "directory-itself",
        /// It takes no abbreviations of long options.
        ExactOptions = "exact-options",
        /// After this command of the shell nothing is known of any variable.
        ForgetsVariables = "forgets-variables",
        /// A command of the shell that changes nothing outside of it, whatever its arguments.
        FreeBuiltin = "free-builtin",
        /// Its arguments are programs in a language of their own.
        Interpreter = "interpreter",
        /// It makes links, or shows one directory at the place of another.
        Links = "links",
        /// It copies, but `-t` does not name where to.
        NoTargetOption = "no-target-option",
        /// A command of the shell that can change what later commands mean.
        OpaqueBuiltin = "opaque-builtin",
        /// It runs others as another user.
        Raises = "raises",
        /// A command of the shell that sets the variables it names.
        SetsVariables = "sets-variables",
        /// It takes the start of a subcommand for the whole: `npm publis`.
        ShortensSubcommand = "shortens-subcommand",
        /// It takes the start of every word for the whole: `ip a a`.
        ShortensWords = "shortens-words",
        /// It writes files whose names stand in another file.
        WritesUnknownFiles = "writes-unknown-files",
    }
}

words! {
    /// How a shell reads a line.
    ShellKind {
        /// Like bash.
        Bash = "bash",
        /// As POSIX has it.
        Posix = "posix",
        /// As POSIX has it, but for ways of its own: what is found in its texts may not be all.
        Own = "own",
        /// In another language.
        Other = "other",
    }
}

words! {
    /// Arguments that rows cannot describe, and code reads.
    InnerSyntax {
        /// `find … -exec command {} ;`
        Find = "find",
        /// `fd pattern -x command {}`
        Fd = "fd",
        /// `git`: settings, checkouts and paths.
        Git = "git",
        /// Commands come from its input.
        Input = "input",
        /// Commands come from its input, and run later.
        Later = "later",
        /// A table of commands to run later comes from a file or its input.
        Table = "table",
    }
}

words! {
    /// What a program does to files, as a row has it.
    FileRow {
        /// It only reads, but for the options that need a rule of their own.
        Reads = "reads",
        /// It changes the files that it names.
        Writes = "writes",
        /// It changes the repository, and no file that it does not name.
        Repository = "repository",
        /// It changes all that is below the directories that it is given.
        TakesAll = "takes-all",
        /// It copies its operands into the last of them, or shows them there.
        Copies = "copies",
        /// It moves its operands to the last of them.
        Moves = "moves",
        /// It makes the files that an archive or a patch names.
        Unpacks = "unpacks",
        /// It makes a checkout in the last of its operands.
        Checkout = "checkout",
        /// It makes a repository without any checkout.
        NewRepository = "new-repository",
        /// It changes those files of a checkout that it names.
        NamedTree = "named-tree",
        /// It changes files of a checkout.
        Tree = "tree",
        /// It writes what Agentry keeps.
        Own = "own",
    }
}

impl FileRow {
    /// Whether operands go to the last of them.
    pub fn is_copy(self) -> bool {
        matches!(self, Self::Copies | Self::Moves)
    }

    /// Whether files of a checkout stay as they are, apart from those that a redirection writes.
    pub fn keeps_checkout(self) -> bool {
        matches!(self, Self::Reads | Self::Repository | Self::NewRepository)
    }
}
