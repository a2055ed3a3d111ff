//! Keeps the logins of the user: in the keyring of the system where there is one, otherwise in files that
//! only this user can read.

use agentry_posix::unix::fs::PermissionsExt as _;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use agentry_mcp::{LoginStore, SavedLogin};
use url::Url;

use super::pin_store::file_name;
use crate::private_files;

/// The program for the keyring of a desktop.
const KEYRING: &str = "secret-tool";
/// The time of one question to the keyring, which may ask the user to unlock it.
const PATIENCE: Duration = Duration::from_mins(1);
/// The most bytes of a login.
const MOST: u64 = 256 << 10;

/// The logins of one user.
#[derive(Debug, Clone)]
pub struct UserLogins {
    directory: PathBuf,
    keyring: Option<PathBuf>,
}

impl UserLogins {
    /// Returns the logins in this directory, and in the keyring if one of `path` has its program and the
    /// user has a session with a keyring.
    pub fn new(directory: PathBuf, path: &[PathBuf], has_session: bool) -> Self {
        let programs = path.iter().map(|directory| directory.join(KEYRING));
        let keyring = programs.into_iter().find(|program| has_session && program.is_file());
        Self { directory, keyring }
    }

    fn file(&self, resource: &Url) -> PathBuf {
        self.directory.join(format!("{}.json", file_name(resource.as_str())))
    }

    fn find_in_file(&self, resource: &Url) -> io::Result<Option<Vec<u8>>> {
        let path = self.file(resource);
        let file = match fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // A user who could read it could also have replaced it.
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            let message =
                format!("other users can read `{}`; remove it and log in again", path.display());
            return Err(io::Error::other(message));
        }
        let mut text = Vec::new();
        file.take(MOST).read_to_end(&mut text)?;
        Ok(Some(text))
    }

    fn keep_in_file(&self, resource: &Url, text: &[u8]) -> io::Result<()> {
        private_files::directories(&self.directory)?;
        private_files::replace(&self.file(resource), text)
    }
}

impl LoginStore for UserLogins {
    fn find(&self, resource: &Url) -> Result<Option<SavedLogin>, String> {
        let kept = self.keyring.as_ref().and_then(|program| {
            asked(program, &["lookup", "service", "agentry", "resource", resource.as_str()], None)
                .ok()
        });
        let kept = kept.filter(|text| !text.is_empty()).map(Some);
        let text = kept.map_or_else(|| self.find_in_file(resource), Ok);
        let text = text.map_err(|error| format!("your login cannot be read: {error}"))?;
        let read = |text: Vec<u8>| serde_json::from_slice(&text).map_err(|error| error.to_string());
        text.map(read).transpose().map_err(|error| format!("your login cannot be read: {error}"))
    }

    fn keep(&self, resource: &Url, login: &SavedLogin) -> Result<(), String> {
        let text = serde_json::to_vec(login).map_err(|error| error.to_string())?;
        if let Some(program) = &self.keyring {
            let label = format!("--label=Agentry: {resource}");
            let words = ["store", &label, "service", "agentry", "resource", resource.as_str()];
            if asked(program, &words, Some(&text)).is_ok() {
                // An older one in a file must not be found when the keyring is locked.
                let _ = fs::remove_file(self.file(resource));
                return Ok(());
            }
        }
        let kept = self.keep_in_file(resource, &text);
        kept.map_err(|error| format!("your login cannot be kept: {error}"))
    }
}

/// Asks the program of the keyring; the secret goes through its input, where no other process sees it.
fn asked(program: &Path, words: &[&str], input: Option<&[u8]>) -> io::Result<Vec<u8>> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    if let (Some(mut to), Some(text)) = (child.stdin.take(), input) {
        to.write_all(text)?;
    }
    let until = Instant::now() + PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > until {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("the keyring does not answer"));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut found = Vec::new();
    if let Some(from) = child.stdout.take() {
        from.take(MOST).read_to_end(&mut found)?;
    }
    if status.success() { Ok(found) } else { Err(io::Error::other("the keyring refused")) }
}

#[cfg(test)]
mod tests {
    use agentry_mcp::{RegisteredClient, SecretUse};

    use super::*;

    fn login(resource: &Url) -> SavedLogin {
        SavedLogin {
            resource: resource.to_string(),
            audience: None,
            issuer: "https://auth.example".to_owned(),
            token_endpoint: "https://auth.example/token".to_owned(),
            client: RegisteredClient {
                id: "c".to_owned(),
                secret: None,
                secret_use: SecretUse::None,
            },
            access_token: "t0ken".to_owned(),
            refresh_token: None,
            ends: None,
            scope: None,
        }
    }

    #[test]
    fn login_files_are_private_and_per_server() {
        let home = tempfile::tempdir().unwrap();
        let store = UserLogins::new(home.path().join("logins"), &[], true);
        let one: Url = "https://a.example/mcp".parse().unwrap();
        let other: Url = "https://a.example/other".parse().unwrap();
        assert!(store.find(&one).unwrap().is_none());
        store.keep(&one, &login(&one)).unwrap();
        assert_eq!(store.find(&one).unwrap().unwrap().access_token, "t0ken");
        assert!(store.find(&other).unwrap().is_none());
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.file(&one)), 0o600);
        assert_eq!(mode(&store.directory), 0o700);
        fs::set_permissions(store.file(&one), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(store.find(&one).unwrap_err().contains("other users can read"));
    }

    #[test]
    fn the_system_keyring_is_preferred() {
        let home = tempfile::tempdir().unwrap();
        let bin = home.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let kept = home.path().join("kept");
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = store ]; then cat > {0}; else cat {0}; fi\n",
            kept.display()
        );
        fs::write(bin.join(KEYRING), text).unwrap();
        fs::set_permissions(bin.join(KEYRING), fs::Permissions::from_mode(0o755)).unwrap();
        let url: Url = "https://a.example/mcp".parse().unwrap();
        let directory = home.path().join("logins");
        let store = UserLogins::new(directory.clone(), std::slice::from_ref(&bin), true);
        store.keep(&url, &login(&url)).unwrap();
        assert!(kept.is_file() && !store.file(&url).exists());
        assert_eq!(store.find(&url).unwrap(), Some(login(&url)));
        // Without a session there is no keyring to ask.
        let store = UserLogins::new(directory, &[bin], false);
        assert!(store.find(&url).unwrap().is_none());
    }
}
