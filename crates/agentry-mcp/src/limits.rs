//! How much a server may send. Exceeding a limit is an error that names it.

use std::time::Duration;

/// The most bytes of one message: a line of a program, an event or a body of HTTP.
pub const MESSAGE_BYTES: usize = 16 << 20;
/// The most pages of a list.
pub const PAGES: usize = 64;
/// The most tools of a server.
pub const TOOLS: usize = 512;
/// The most bytes of one tool, as JSON.
pub const TOOL_BYTES: usize = 64 << 10;
/// The most bytes of all tools of a server, as JSON.
pub const CATALOGUE_BYTES: usize = 4 << 20;
/// The most characters of the name of a tool.
pub const NAME_CHARACTERS: usize = 128;
/// The most bytes of a description or a title; the rest is cut off.
pub const DESCRIPTION_BYTES: usize = 8 << 10;
/// The most bytes of the instructions of a server; the rest is cut off.
pub const INSTRUCTIONS_BYTES: usize = 16 << 10;
/// The most bytes of an error message; the rest is cut off.
pub const ERROR_BYTES: usize = 2 << 10;
/// The most resources or prompts of a server that are listed.
pub const LISTED: usize = 1_000;
/// The most messages of a program that are no messages of the protocol.
pub const RUBBISH: usize = 1_000;
/// The most messages that wait to be sent.
pub const QUEUE: usize = 64;
/// The most questions of a server that are open at once.
pub const QUESTIONS: usize = 4;
/// The most rounds of questions in one call.
pub const ROUNDS: usize = 10;
/// The most fields of one question.
pub const FIELDS: usize = 20;
/// The bytes of standard error that are kept, the last ones.
pub const ERRORS_BYTES: usize = 2 << 10;

/// The time to start and introduce itself.
pub const START: Duration = Duration::from_secs(30);
/// The time after which a program that does not answer `server/discover` is sent `initialize` as well.
pub const PROBE: Duration = Duration::from_secs(5);
/// The time to wait until a session has its stream of notifications.
pub const LISTENING: Duration = Duration::from_millis(500);
/// The time of one page of a list.
pub const LIST: Duration = Duration::from_secs(30);
/// The time of a call, unless the definition says otherwise.
pub const CALL: Duration = Duration::from_mins(1);
/// The time that a program gets to end by itself when its input is closed.
pub const END: Duration = Duration::from_millis(250);
/// The first pause before a server that ended is started again; it doubles.
pub const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The most restarts in a row without one successful call.
pub const RESTARTS: u32 = 5;
