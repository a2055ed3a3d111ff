//! The modules of a script. All of them came with the job; an import finds nothing else.

use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declared, Evaluated};
use rquickjs::promise::MaybePromise;
use rquickjs::{Ctx, Error, Function, Module, Result as JsResult, Runtime};

use super::engine::{Engine, EngineStop};
use super::exception::FILE;
use crate::job::ModuleFile;

/// The name under which the entry exports its `run`, whether or not the script exports it.
const ENTRY: &str = "agentryRun";

/// Offers modules to the imports of a job.
pub(super) fn offer(runtime: &Runtime, files: &[ModuleFile]) {
    let files: Rc<[ModuleFile]> = files.to_vec().into();
    runtime.set_loader(GivenModules(Rc::clone(&files)), GivenModules(files));
}

/// The modules that came with the job.
struct GivenModules(Rc<[ModuleFile]>);

impl GivenModules {
    fn find(&self, path: &str) -> Option<&ModuleFile> {
        self.0.iter().find(|file| file.path == path)
    }
}

impl Resolver for GivenModules {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> JsResult<String> {
        let importer = base.strip_prefix(FILE).unwrap_or(base).trim_start_matches('/');
        let refused = |why: &str| Err(Error::new_resolving_message(importer, name, why));
        if !name.starts_with("./") && !name.starts_with("../") {
            return refused("a script imports only files of its agent, as in `./lib.mjs`");
        }
        match joined(importer, name).filter(|path| self.find(path).is_some()) {
            Some(path) => Ok(format!("{FILE}/{path}")),
            None => refused("there is no such file among those of the agent"),
        }
    }
}

impl Loader for GivenModules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> JsResult<Module<'js, Declared>> {
        let path = name.strip_prefix(FILE).unwrap_or(name).trim_start_matches('/');
        match self.find(path) {
            Some(file) => Module::declare(ctx.clone(), name, file.text.as_str()),
            None => Err(Error::new_loading(name)),
        }
    }
}

/// Returns the path of an import, or `None` if it climbs out of the directory.
fn joined(importer: &str, name: &str) -> Option<String> {
    let directory = importer.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

impl<'js> Engine<'js> {
    /// Evaluates the first module and returns its `run`: a function of that name, or the default export.
    pub(super) fn entry(&self, files: &[ModuleFile]) -> Result<Function<'js>, EngineStop> {
        let Some(entry) = files.first() else { return Err(EngineStop::new("there is no script")) };
        let (module, is_named) = self.declared(entry)?;
        let (module, done) = module.eval().map_err(|error| self.stop(&error))?;
        self.settle(MaybePromise::from_value(done.into_value()))?;
        let exported = |name| function(&module, name);
        let run = if is_named { exported(ENTRY) } else { None };
        // A failed lookup leaves an exception behind.
        let run = run.or_else(|| exported("run")).or_else(|| exported("default"));
        drop(self.ctx.catch());
        let path = &entry.path;
        let message =
            format!("`{path}` has no function `run`; write `export function run(ctx, inputs)`");
        run.ok_or_else(|| EngineStop::new(message))
    }

    /// Compiles the entry. Returns whether it has a variable `run` of its own.
    fn declared(&self, entry: &ModuleFile) -> Result<(Module<'js, Declared>, bool), EngineStop> {
        let name = format!("{FILE}/{}", entry.path);
        let exporting = format!("{}\n;export {{ run as {ENTRY} }};", entry.text);
        if let Ok(module) = Module::declare(self.ctx.clone(), name.as_str(), exporting) {
            return Ok((module, true));
        }
        // There is no such variable, or the text is wrong anyway, which the second attempt reports.
        drop(self.ctx.catch());
        let module = Module::declare(self.ctx.clone(), name, entry.text.as_str());
        module.map(|module| (module, false)).map_err(|error| self.stop(&error))
    }
}

fn function<'js>(module: &Module<'js, Evaluated>, name: &str) -> Option<Function<'js>> {
    module.get(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_outside_the_directory_are_refused() {
        let cases = [
            ("scripts/a.mjs", "./b.mjs", Some("scripts/b.mjs")),
            ("scripts/a.mjs", "../lib/b.mjs", Some("lib/b.mjs")),
            ("scripts/a.mjs", "../../b.mjs", None),
            ("a.mjs", "./x/../b.mjs", Some("b.mjs")),
            ("a.mjs", "../b.mjs", None),
            ("a.mjs", "./x/../../b.mjs", None),
            ("a.mjs", ".//b.mjs", Some("b.mjs")),
        ];
        for (importer, name, expected) in cases {
            assert_eq!(joined(importer, name).as_deref(), expected, "{importer} {name}");
        }
    }
}
