//! The facts that the data files contain about one program, and the words that they are written in.

use crate::hazard::{CommandHazard, DashMeaning};
use crate::hidden_names::HiddenRows;
use crate::operands::{OperandKind, OperandRow};
use crate::options::GlobalOption;
use crate::prints::PrintRow;
use crate::searched_names::NameOptions;
use crate::wrapper::{RunnerRow, WrapperRow};

/// Words of a data file, separated by white space and split on demand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordList(pub &'static str);

impl WordList {
    /// Iterates over the words.
    pub fn iter(self) -> impl Iterator<Item = &'static str> + Clone {
        self.0.split_ascii_whitespace()
    }

    /// Whether `word` is in the list.
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
    /// `same-program:` every name that it is installed under, including this one.
    pub same_program: Vec<&'static str>,
    /// `synonyms:` groups of subcommands with the same meaning, in one word or more.
    pub synonyms: Vec<Vec<&'static str>>,
    /// `synonyms-of:` the program whose synonyms of subcommands apply to it too.
    pub synonyms_of: Option<&'static str>,
    /// `files:` what it does to files, per list of subcommands; an empty list means all others.
    pub files: Vec<(WordList, FileRow)>,
    /// `lists:` options that only list an archive.
    pub lists: WordList,
    /// `writing:` prefixes of options that make a reading subcommand write.
    pub writing: WordList,
    /// `approval:` subcommands whose approval covers other arguments.
    pub approval: WordList,
    /// `global flag:`, `global next:` and so on: options before the subcommand.
    pub globals: Vec<GlobalOption>,
    /// `directory:` global options that set the directory in which it runs.
    pub directory: WordList,
    /// `idle:` global options that change nothing that a rule is about.
    pub idle: WordList,
    /// `idle settings:` values of the option `-c` that change nothing that a rule is about: `name` with any value,
    /// every name below `section.*`, or `name=value`.
    pub idle_settings: WordList,
    /// `dashes:` the meaning of a bare `--`, per list of subcommands; an empty list means all.
    pub dashes: Vec<(WordList, DashMeaning)>,
    /// `own-rule …:` options that an allow rule must name.
    pub hazards: Vec<CommandHazard>,
    /// `operands:` which arguments are files, per list of subcommands; an empty list means all.
    pub(crate) operands: Vec<OperandRow>,
    /// `walks:` options that make it read everything in a directory, or `always`.
    pub walks: WordList,
    /// `searches:` the only subcommands that read the contents of a directory that they walk; empty for all.
    pub searches: WordList,
    /// `names …:` options that limit the names of the files that a walk reads.
    pub names: NameOptions,
    /// `hidden …:` when a walk leaves out hidden files.
    pub hidden: HiddenRows,
    /// `outputs:` options whose next word is a file that is written.
    pub outputs: WordList,
    /// `prints:` what it prints, per list of subcommands.
    pub(crate) prints: Vec<PrintRow>,
    /// `discards:` pairs of a short and a long option that name an output, which may be `/dev/null`.
    pub discards: WordList,
    /// `methods:` the short and the long option that set the method of a request.
    pub methods: WordList,
    /// `no-effect […]:` options that change nothing after these words.
    pub no_effect: Vec<(WordList, WordList)>,
    /// `wraps:` how it runs another command.
    pub wrappers: Vec<WrapperRow>,
    /// `runner:` the same for a program whose options are unknown.
    pub runners: Vec<RunnerRow>,
    /// `example:` a command line, and its effects.
    pub examples: Vec<(&'static str, &'static str)>,
    /// Rows that could not be parsed; a test keeps this empty.
    pub malformed: Vec<&'static str>,
}

impl ProgramFacts {
    /// Whether it has this trait.
    pub fn has(&self, wanted: ProgramTrait) -> bool {
        self.traits.contains(&wanted)
    }

    /// Returns what it does to files with this subcommand.
    pub fn file_row(&self, subcommand: Option<&str>) -> Option<FileRow> {
        let own = |(list, _): &&(WordList, FileRow)| subcommand.is_some_and(|it| list.has(it));
        let rest = || self.files.iter().find(|(list, _)| list.is_empty());
        self.files.iter().find(own).or_else(rest).map(|(_, row)| *row)
    }

    /// Returns the meaning of a bare `--` with this subcommand.
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

    /// Whether it writes files that may be anywhere among its arguments, apart from those that its rows name.
    pub fn writes_arguments(&self) -> bool {
        let saves = |row: &OperandRow| row.kind == OperandKind::Web;
        self.file_row(None) == Some(FileRow::Writes)
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
            /// Returns the variant for a word of a data file.
            pub(crate) fn read(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use words;

words! {
    /// A property of a program that needs no value.
    ProgramTrait {
        /// A command line can define aliases for its subcommands: `git -c alias.x=push x`.
        Aliases = "aliases",
        /// Without a hazard it only reads, whatever its arguments, so that an approval of one call covers the
        /// others.
        ApprovedWhole = "approved-whole",
        /// The value of an option is a file only after `@`: `curl -d @file`.
        AtFiles = "at-files",
        /// A shell builtin that changes the directory.
        ChangesDirectory = "changes-directory",
        /// `PROGRAM-x` is `PROGRAM x`: `git-push`.
        Dashed = "dashed",
        /// A shell builtin that takes assignments as arguments.
        Declares = "declares",
        /// Given a directory, it changes nothing in it.
        DirectoryItself = "directory-itself",
        /// It accepts no abbreviations of long options.
        ExactOptions = "exact-options",
        /// A shell builtin after which the value of every variable is unknown.
        ForgetsVariables = "forgets-variables",
        /// A shell builtin that changes nothing outside the shell, whatever its arguments.
        FreeBuiltin = "free-builtin",
        /// It only prints a fact about the machine or its arguments, so that the rules for the other commands of
        /// a line cover it.
        Glue = "glue",
        /// Its arguments are programs in its own language.
        Interpreter = "interpreter",
        /// It makes links, or mounts one directory at the path of another.
        Links = "links",
        /// It copies, but its `-t` is not the target directory.
        NoTargetOption = "no-target-option",
        /// An official tool chain before its subcommand changes nothing: `cargo +nightly`.
        OfficialToolChains = "official-tool-chains",
        /// A shell builtin that can change the meaning of later commands.
        OpaqueBuiltin = "opaque-builtin",
        /// It runs a command as another user.
        Raises = "raises",
        /// Its first operand is the file of its program, which it only reads: `python3 a.py`.
        RunsFile = "runs-file",
        /// A shell builtin that sets the variables in its arguments.
        SetsVariables = "sets-variables",
        /// It accepts a prefix of a subcommand: `npm publis`.
        ShortensSubcommand = "shortens-subcommand",
        /// It accepts a prefix of every word: `ip a a`.
        ShortensWords = "shortens-words",
        /// It writes files whose names are in another file.
        WritesUnknownFiles = "writes-unknown-files",
    }
}

words! {
    /// The language in which a shell reads a line.
    ShellKind {
        /// Like bash.
        Bash = "bash",
        /// POSIX.
        Posix = "posix",
        /// POSIX with extensions of its own, so that the analysis may miss commands.
        Own = "own",
        /// Another language.
        Other = "other",
    }
}

words! {
    /// Argument syntax that rows cannot describe, so that code parses it.
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
    /// What a program does to files, as written in a `files:` row.
    FileRow {
        /// It only reads, apart from its hazards.
        Reads = "reads",
        /// It changes the files in its arguments.
        Writes = "writes",
        /// It changes the repository, and no file outside its arguments.
        Repository = "repository",
        /// It changes everything below the given directories.
        TakesAll = "takes-all",
        /// It copies its operands into the last one, or mounts them there.
        Copies = "copies",
        /// It moves its operands to the last one.
        Moves = "moves",
        /// It creates the files that an archive or a patch names.
        Unpacks = "unpacks",
        /// It makes a checkout in its last operand.
        Checkout = "checkout",
        /// It makes a repository without any checkout.
        NewRepository = "new-repository",
        /// It changes only those files of a checkout that its arguments name.
        NamedTree = "named-tree",
        /// It may change any file of a checkout.
        Tree = "tree",
        /// It writes files that Agentry manages.
        Own = "own",
    }
}

impl FileRow {
    /// Whether the last operand is the destination of the others.
    pub fn is_copy(self) -> bool {
        matches!(self, Self::Copies | Self::Moves)
    }

    /// Whether it leaves the files of a checkout unchanged; redirections are judged separately.
    pub fn keeps_checkout(self) -> bool {
        matches!(self, Self::Reads | Self::Repository | Self::NewRepository)
    }
}
