//! `agentry guard`: answers the hook of a harness. Every failure is a denial, with exit code 2.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::Path;
use std::process::ExitCode;

use agentry_compile::render::{GuardedAgent, RenderLedger, guard, other_agents, protect};
use agentry_compile::targets::guard::{GuardedCall, agent as asking_agent, call as guarded_call};
use agentry_compile::targets::{GuardAnswer, Target, target};
use agentry_compile::text::path::join;
use agentry_compile::text::report::visible;
use agentry_compile::{CompiledAgent, FileTree as _, at};
use agentry_runtime::guard_look::{GuardLook, listed};
use serde_json::Value;

use crate::args::GuardArguments;
use crate::command::read_definition;
use crate::command::render::LEDGER;
use crate::command::run::is_set;
use crate::disk::DiskWorld;
use crate::home::agentry_home;
use crate::output::{CliFailure, complain, remark};

/// The size limit of a question.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

pub(crate) fn run(args: &GuardArguments) -> ExitCode {
    if args.accept {
        return accepted(args);
    }
    // The default hook would print the panic into the answer on standard error.
    set_hook(Box::new(|_| {}));
    let answer = catch_unwind(AssertUnwindSafe(|| answer(args)));
    let answer = answer.unwrap_or_else(|_| {
        let refuse = || refused(target(&args.harness), "a defect in agentry; please report it");
        catch_unwind(AssertUnwindSafe(refuse)).unwrap_or_else(|_| plain("a defect in agentry"))
    });
    let mut out = io::stdout().lock();
    let written = out.write_all(answer.output.as_bytes()).and_then(|()| out.flush());
    let _ = io::stderr().write_all(answer.errors.as_bytes());
    // A harness that did not get the answer must not read silence as an approval.
    ExitCode::from(if written.is_err() { 2 } else { answer.code })
}

fn answer(args: &GuardArguments) -> GuardAnswer {
    let Some(harness) = target(&args.harness) else {
        return plain(&format!("there is no harness `{}`", args.harness));
    };
    let question = match question() {
        Ok(question) => question,
        Err(why) => return refused(Some(harness), &why),
    };
    let disk = DiskWorld::default();
    let named = match named(args, &question) {
        Ok(Some(named)) => Ok(named),
        // The call belongs to no agent of Agentry: the harness decides by itself.
        Ok(None) => return GuardAnswer { output: String::new(), errors: String::new(), code: 0 },
        Err(why) => Err(why),
    };
    let agent = named.as_ref().map_err(Clone::clone).and_then(|named| guarded(&disk, named));
    let call = match guarded_call(&question) {
        Ok(call) => call,
        Err(why) => return refused(Some(harness), &why),
    };
    if call.is_over {
        return looked_after(&disk, agent, &call);
    }
    let agent = agent.and_then(|agent| looked_before(&disk, agent, &call));
    let is_wrong = agent.is_err();
    let answer = guard(&disk, harness, agent, &question);
    if is_wrong { GuardAnswer { code: 2, ..answer } } else { answer }
}

/// The looks at the protected files of the project, and of the agent's own workspace if that is another one.
fn looks(disk: &DiskWorld, agent: &GuardedAgent<'_>) -> Result<Vec<GuardLook>, String> {
    let home = agentry_home().ok_or("there is no home directory")?;
    let home = std::fs::canonicalize(&home).unwrap_or(home);
    let real = |path: &String| {
        let path = disk.absolute(path);
        disk.real(&path).unwrap_or(path)
    };
    let places = agent.project.iter().chain([&agent.compiled.workspace]);
    let mut roots: Vec<String> = places.map(real).collect();
    roots.dedup();
    Ok(roots.iter().map(|root| GuardLook::new(&home, root)).collect())
}

/// Looks at the protected files before a call; an error denies it.
fn looked_before<'a>(
    disk: &DiskWorld,
    agent: GuardedAgent<'a>,
    call: &GuardedCall,
) -> Result<GuardedAgent<'a>, String> {
    for look in looks(disk, &agent)? {
        if let Some(why) = look.blocked() {
            return Err(why);
        }
        let looked = look.before(&call.id, &agent.protected);
        looked.map_err(|error| format!("the protected files cannot be looked at: {error}"))?;
    }
    Ok(agent)
}

/// Looks at the protected files after a call, and reports what it changed.
fn looked_after(
    disk: &DiskWorld,
    agent: Result<GuardedAgent<'_>, String>,
    call: &GuardedCall,
) -> GuardAnswer {
    let changed = agent.and_then(|agent| {
        let mut changed = Vec::new();
        for look in looks(disk, &agent)? {
            let found = look.after(&call.id, &agent.protected);
            changed.extend(found.map_err(|error| error.to_string())?);
        }
        Ok(changed)
    });
    let reason = match changed {
        Ok(changed) if changed.is_empty() => {
            return GuardAnswer { output: String::new(), errors: String::new(), code: 0 };
        }
        Ok(changed) => format!(
            "agentry: this call changed protected files ({}); every further call is denied until a \
             person has looked at them",
            listed(&changed)
        ),
        Err(why) => format!("agentry: {why}"),
    };
    let output = serde_json::json!({ "decision": "block", "reason": reason });
    GuardAnswer { output: format!("{output}\n"), errors: format!("{reason}\n"), code: 2 }
}

/// Lets calls through again, after a person at the terminal has looked.
fn accepted(args: &GuardArguments) -> ExitCode {
    let disk = DiskWorld::default();
    let path = args.agent.clone().unwrap_or_default();
    let named = GuardDefinition { path, digest: None, project: args.project.clone() };
    let changed = guarded(&disk, &named).and_then(|agent| {
        // An agent could run this command too; it has no terminal.
        if !io::stdin().is_terminal() {
            return Err("`--accept` needs a person at a terminal".to_owned());
        }
        let mut changed = Vec::new();
        for look in looks(&disk, &agent)? {
            changed.extend(look.accept().map_err(|error| error.to_string())?);
        }
        Ok(changed)
    });
    match changed {
        Ok(changed) if changed.is_empty() => remark("no call changed protected files"),
        Ok(changed) => remark(&format!("calls go on; they had changed {}", listed(&changed))),
        Err(why) => {
            complain(&CliFailure::new(why));
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Reads the question from standard input.
fn question() -> Result<String, String> {
    let input = io::stdin();
    // A user who starts the guard by hand would wait forever.
    if input.is_terminal() {
        return Err("the question of a harness is expected on standard input".to_owned());
    }
    let mut bytes = Vec::new();
    // One more byte shows that the limit was exceeded.
    let read = input.lock().take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("the question cannot be read: {error}"))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("the question has more than {MOST_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "the question is not UTF-8".to_owned())
}

/// The definition whose policy decides.
struct GuardDefinition {
    path: String,
    digest: Option<String>,
    /// The project that it was rendered into.
    project: Option<String>,
}

/// The definition that the arguments name, or that the question names through a rendered file.
fn named(args: &GuardArguments, question: &str) -> Result<Option<GuardDefinition>, String> {
    let Some(file) = &args.agents else {
        let path = args.agent.clone().ok_or("no agent is named")?;
        let (digest, project) = (args.digest.clone(), args.project.clone());
        return Ok(Some(GuardDefinition { path, digest, project }));
    };
    let text = std::fs::read_to_string(file).map_err(|error| format!("`{file}`: {error}"))?;
    let known: Value = serde_json::from_str(&text).map_err(|error| format!("`{file}`: {error}"))?;
    let agents = known.get("agents").and_then(Value::as_object);
    let agents = agents.ok_or_else(|| format!("`{file}` lists no agents"))?;
    // The hook runs for every agent of the harness, also for those of others.
    let Some(entry) = asking_agent(question)?.and_then(|name| agents.get(&name)) else {
        return Ok(None);
    };
    let word = |key: &str| entry.get(key).and_then(Value::as_str);
    let (Some(path), Some(digest)) = (word("path"), word("digest")) else {
        return Err(format!("`{file}` is not as it was rendered"));
    };
    // The file lies in the settings directory of the harness, one level below the project.
    let root = Path::new(file).parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    // Files of the user belong to no project: they name the definition by its full path.
    let project = Path::new(path).is_relative().then(|| text(root));
    let path = text(&root.join(path));
    Ok(Some(GuardDefinition { path, digest: Some(digest.to_owned()), project }))
}

fn guarded<'a>(disk: &DiskWorld, named: &'a GuardDefinition) -> Result<GuardedAgent<'a>, String> {
    let found = at(disk, &named.path).map_err(|why| format!("`{}` {why}", named.path))?;
    let mut compiled = read_definition(disk, &found);
    let project = named.project.as_deref().map(|path| project_root(disk, path)).transpose()?;
    let protected = protected_in(disk, &mut compiled, project.as_deref());
    let digest = named.digest.as_deref();
    let (program, is_set) = (this_program(), &is_set);
    Ok(GuardedAgent { compiled, project, digest, protected, program, is_set })
}

/// The real path of a project, which must be a directory.
pub(crate) fn project_root(disk: &DiskWorld, path: &str) -> Result<String, String> {
    let named = if path.is_empty() { "." } else { path };
    let real = disk.real(&disk.absolute(named)).filter(|real| Path::new(real).is_dir());
    real.ok_or_else(|| format!("the project `{named}` is not a directory"))
}

/// The protected paths of an agent that works in `project`: those there, and those of its own workspace.
pub(crate) fn protected_in(
    disk: &DiskWorld,
    compiled: &mut CompiledAgent,
    project: Option<&str>,
) -> Vec<String> {
    let mut paths = protected_paths(disk, compiled);
    let Some(project) = project else { return paths };
    let own = compiled.work_in(disk, project);
    // Mostly the project is its own workspace, and one search for other agents is enough.
    if !compiled.works_in_place(&own) {
        paths.extend(protected_paths(disk, compiled));
        paths.sort();
        paths.dedup();
    }
    compiled.return_to(own);
    paths
}

/// The path of the running program.
fn this_program() -> Option<String> {
    std::env::current_exe().ok()?.into_os_string().into_string().ok()
}

/// The paths that no call may write to, whatever the policy says: also the definitions of the other agents of
/// the workspace. The guard, a run and `policy why` use the same list.
pub(crate) fn protected_paths(disk: &DiskWorld, compiled: &CompiledAgent) -> Vec<String> {
    let path = join(&compiled.workspace, LEDGER);
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // A damaged ledger protects no rendered files, but the definition itself stays protected.
    let ledger = RenderLedger::parse(&text).unwrap_or_default();
    let mut more = other_agents(disk, compiled);
    more.extend(this_program());
    protect(disk, compiled, &ledger, &more)
}

/// A denial in the protocol of the harness, if it has one.
fn refused(harness: Option<&'static Target>, why: &str) -> GuardAnswer {
    // The reason may quote the question.
    let why = &visible(why);
    match harness.and_then(|harness| harness.guard.as_ref()) {
        Some(guard) => GuardAnswer { code: 2, ..(guard.failure)(why) },
        None => plain(why),
    }
}

fn plain(why: &str) -> GuardAnswer {
    GuardAnswer { output: String::new(), errors: format!("agentry guard: {why}\n"), code: 2 }
}
