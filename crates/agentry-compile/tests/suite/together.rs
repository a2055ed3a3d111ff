//! Rendering targets in parallel gives the same result as one after the other.

use std::collections::HashMap;

use agentry_compile::render::{RenderConfig, RenderJob, run};
use agentry_compile::targets::ListedFiles;
use agentry_compile::targets::{ProjectRendering, RenderScope, RenderSubject, TARGETS, Target};
use agentry_compile::{MemoryWorld, at, read, subject};

type Files = HashMap<String, String>;

fn subjects() -> Vec<RenderSubject> {
    let names = ["helper", "reviewer"];
    let file = |name: &str| {
        let text =
            format!("name = \"{name}\"\ndescription = \"Answers\"\ndisplay_name = \"{name}\"\n");
        let files = [("agent.toml", text), ("system-prompt.md", "You answer.\n".to_owned())];
        files.map(|(path, text)| (format!("agents/{name}/{path}"), text))
    };
    let world = MemoryWorld::new(names.iter().flat_map(|name| file(name)));
    let one = |name: &&str| {
        let found = at(&world, &format!("agents/{name}")).expect("an agent");
        subject(&world, &read(&world, &found), None, true)
    };
    names.iter().map(one).collect()
}

/// The rendering for each of these targets, with these existing files.
fn rendered(
    targets: &[&'static Target],
    config: &RenderConfig,
    files: &Files,
) -> Vec<ProjectRendering> {
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let job = RenderJob {
        targets,
        scope: RenderScope::Project,
        guard: &|target| target.guard.is_some(),
        close_gaps: &|_| false,
        unattended: &|_| false,
        shared: true,
        accepted: &[],
        force: false,
        explain: false,
        config,
        existing: &ListedFiles(&files),
    };
    run(&job, &subjects()).into_iter().map(|ran| ran.rendering).collect()
}

/// In both orders, so that each of two targets that share a file is the second one once.
#[test]
fn parallel_rendering_equals_sequential_rendering() {
    let config = RenderConfig::default();
    let own = ("AGENTS.md".to_owned(), "# Mine\n".to_owned());
    let around = Files::from([own, (".claude/settings.json".to_owned(), "{}".to_owned())]);
    let backwards: Vec<&Target> = TARGETS.iter().rev().copied().collect();
    for targets in [TARGETS, &backwards] {
        let mut files = around.clone();
        let mut written_twice = 0;
        for (target, together) in targets.iter().zip(rendered(targets, &config, &around)) {
            let alone = rendered(&[target], &config, &files).remove(0);
            assert_eq!(together, alone, "{}", target.name);
            for file in &alone.shared {
                let before = files.insert(file.path.clone(), file.text().to_owned());
                written_twice +=
                    usize::from(before.is_some() && before != around.get(&file.path).cloned());
            }
        }
        assert!(written_twice > 0, "no two targets share a file");
    }
}
