//! Which calls write to protected paths.

use agentry_policy::path::NoLinks;

use super::*;
use crate::memory_world::MemoryWorld;

#[test]
fn what_writes_to_a_protected_path() {
    let paths = ["/workspace/.claude", "/workspace/a.agent", "/opt/agentry"].map(str::to_owned);
    let places = PathAnchors::default();
    let mut world = MemoryWorld::default();
    for path in ["workspace/bare/objects/x", "workspace/bare/refs/x", "workspace/a.agent"] {
        world.write(path, "");
    }
    let protected = ProtectedPaths { paths: &paths, named: &[], places: &places, world: &world };
    let cases = [
        (Section::Edit, "a.agent", Some(Action::Deny)),
        (Section::Edit, "x/../.claude/settings.json", Some(Action::Deny)),
        (Section::Edit, "/opt/agentry", Some(Action::Deny)),
        (Section::Edit, "b.agent", Some(Action::Deny)),
        (Section::Edit, ".git/hooks/pre-commit", Some(Action::Deny)),
        (Section::Edit, "sub/.git/HEAD", Some(Action::Deny)),
        (Section::Edit, ".vscode/tasks.json", Some(Action::Deny)),
        (Section::Edit, ".vscode/words.txt", None),
        (Section::Edit, "agents/a.cassette.jsonl", Some(Action::Deny)),
        (Section::Edit, "bare/HEAD", Some(Action::Deny)),
        (Section::Edit, "bare/config", None),
        (Section::Edit, "src/HEAD", None),
        (Section::Bash, "cp x .git/hooks/pre-commit", Some(Action::Deny)),
        (Section::Bash, "tee .g*/hooks/pre-commit", Some(Action::Deny)),
        (Section::Bash, "tee .git/ho*/pre-commit", Some(Action::Deny)),
        (Section::Bash, "tee sub/.git/conf*", Some(Action::Deny)),
        (Section::Bash, "rm .git/*.lock", None),
        (Section::Bash, "rm .git/index.lock", None),
        (Section::Bash, "cat .git/config", None),
        (Section::Bash, "echo x > .vscode/tasks.json", Some(Action::Deny)),
        (Section::Bash, "cp a b.cassette.jsonl", Some(Action::Deny)),
        (Section::Read, "a.agent", None),
        (Section::Bash, "cat a.agent", None),
        (Section::Bash, "echo x > a.agent", Some(Action::Deny)),
        (Section::Bash, "echo x >> ./.claude/x", Some(Action::Deny)),
        (Section::Bash, "cd .claude && echo x > y", Some(Action::Deny)),
        (Section::Bash, "sh -c 'echo x > .claude/y'", Some(Action::Deny)),
        (Section::Bash, "X=.claude/y; echo x > $X", Some(Action::Deny)),
        (Section::Bash, "echo x > .claude/$Y", Some(Action::Deny)),
        (Section::Bash, "echo x > $Y", Some(Action::Ask)),
        (Section::Bash, "echo x > out/$Y", None),
        (Section::Bash, "echo x | tee .claude/y", Some(Action::Deny)),
        (Section::Bash, "rm -rf .claude", Some(Action::Deny)),
        (Section::Bash, "rm -rf .", Some(Action::Deny)),
        (Section::Bash, "mv /opt x", Some(Action::Deny)),
        (Section::Bash, "sed -i s/a/b/ a.agent", Some(Action::Deny)),
        (Section::Bash, "dd of=a.agent", Some(Action::Deny)),
        (Section::Bash, "sudo rm a.agent", Some(Action::Deny)),
        (Section::Bash, "git checkout HEAD~1 -- .claude/settings.json", Some(Action::Deny)),
        (Section::Bash, "git rm -r .claude", Some(Action::Deny)),
        (Section::Bash, "git mv .claude x", Some(Action::Deny)),
        (Section::Bash, "git apply e.patch", None),
        (Section::Bash, "git clean -fdx", None),
        (Section::Bash, "cd src && git reset --hard", None),
        (Section::Bash, "git checkout -- .", None),
        (Section::Bash, "git restore src/x", None),
        (Section::Bash, "git add .claude && git commit -m x", None),
        (Section::Bash, "cp -r evil/. .", None),
        (Section::Bash, "cp -rT evil .", None),
        (Section::Bash, "cp -r evil/.claude .", Some(Action::Deny)),
        (Section::Bash, "cp s -t.claude", Some(Action::Deny)),
        (Section::Bash, "cp s --target-directory=.claude", Some(Action::Deny)),
        (Section::Bash, "cp evil/* .", None),
        (Section::Bash, "cp a/x .", None),
        (Section::Bash, "mv a/x .", None),
        (Section::Bash, "rsync -a evil/ .", None),
        (Section::Bash, "rsync -a evil/ out", None),
        (Section::Bash, "tar xf e.tar -C .claude", Some(Action::Deny)),
        (Section::Bash, "tar xf e.tar", None),
        (Section::Bash, "tar xf e.tar -C out", None),
        (Section::Bash, "tar czf out.tgz src", None),
        (Section::Bash, "unzip e.zip", None),
        (Section::Bash, "rm -rf .c*", Some(Action::Deny)),
        (Section::Bash, "rm -rf */.cl*", Some(Action::Deny)),
        (Section::Bash, "rm -rf out/*", None),
        (Section::Bash, "rm -f *.agent", Some(Action::Deny)),
        (Section::Bash, "rm -f *.o", None),
        (Section::Bash, "rm -rf $X", Some(Action::Ask)),
        (Section::Bash, "ln -s . x && echo y > x/.claude/settings.json", Some(Action::Deny)),
        (Section::Bash, "ln -s . x && echo y > x/a.agent", Some(Action::Deny)),
        (Section::Bash, "ln -s . x && echo y > x/notes", Some(Action::Ask)),
        (Section::Bash, "ln -s a b", None),
        (Section::Bash, "find .claude -delete", Some(Action::Deny)),
        (Section::Bash, "find . -name x -delete", None),
        (Section::Bash, "find .claude -name x", None),
        (Section::Bash, "curl -o .claude/x https://x.org", Some(Action::Deny)),
        (Section::Bash, "curl -o.claude/x https://x.org", Some(Action::Deny)),
        (Section::Bash, "sort -o a.agent x", Some(Action::Deny)),
        (Section::Bash, "perl -pi -e s/a/b/ a.agent", Some(Action::Deny)),
        (Section::Bash, "sed -i s/a/b/ ./*.agent", Some(Action::Deny)),
        (Section::Bash, "sed -n 1p a.agent", None),
        (Section::Bash, "echo .claude | xargs rm -rf", Some(Action::Ask)),
        (Section::Bash, "git ls-files | xargs grep x", None),
        (Section::Bash, "agentry render --force", Some(Action::Ask)),
        (Section::Bash, "agentry check", None),
        (Section::Bash, "make \"-j$(nproc)\"", None),
        (Section::Bash, "cd $X && rm x", Some(Action::Ask)),
        (Section::Bash, "cargo test --workspace", None),
        (Section::Bash, "git pull", None),
        (Section::Bash, "git stash pop", None),
        (Section::Bash, "git checkout main", None),
        (Section::Bash, "git checkout \"$branch\"", None),
        (Section::Bash, "git checkout -- .claude", Some(Action::Deny)),
        (Section::Bash, "cd $X && git pull", None),
        (Section::Bash, "rm -r .github", None),
        (Section::Bash, "ln -s a b && npm test", None),
        (Section::Bash, "ln -s a b && touch c", None),
        (Section::Bash, "ln -s . x && cp y x/a.agent", Some(Action::Deny)),
        (Section::Bash, "ln -s . x && cp y x/notes", Some(Action::Ask)),
        (Section::Bash, "timeout 5 cat a.agent", None),
        (Section::Bash, "sudo cat a.agent", None),
        (Section::Edit, "/other/project/.claude/settings.json", Some(Action::Deny)),
        (Section::Edit, "sub/agentry.toml", Some(Action::Deny)),
        (Section::Bash, "echo x > ~/.codex/config.toml", Some(Action::Deny)),
        (Section::Bash, "rm sub/opencode.json", Some(Action::Deny)),
        (Section::Bash, "cp -r src out", None),
        (Section::Bash, "rm -rf target", None),
    ];
    let found = |section, subject| {
        let call = SectionCall { section, subject, directory: "/workspace" };
        protected.reason(call, &NoLinks).map(|reason| reason.action)
    };
    for (section, subject, expected) in cases {
        assert_eq!(found(section, subject), expected, "{section} {subject}");
    }
}
