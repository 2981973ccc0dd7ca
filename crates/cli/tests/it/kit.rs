//! A home, a lake, and the binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::asked::skip;

/// A run and what it said.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Itself, if it ended so.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// The one JSON object on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}\nstdout:\n{}\nstderr:\n{}", self.out, self.err))
    }

    /// Itself, if stderr holds all of these.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Ran {
        for part in parts {
            assert!(self.err.contains(part), "no `{part}` in stderr:\n{}\nstdout:\n{}", self.err, self.out);
        }
        self
    }

    /// Itself, if stdout holds all of these.
    #[track_caller]
    pub(crate) fn prints(self, parts: &[&str]) -> Ran {
        for part in parts {
            assert!(self.out.contains(part), "no `{part}` in stdout:\n{}\nstderr:\n{}", self.out, self.err);
        }
        self
    }
}

/// A folder with a home in it, and nothing of this process's environment.
pub(crate) struct Kit {
    pub(crate) folder: TempDir,
    vars: Vec<(String, String)>,
}

impl Kit {
    /// A home, and no lake yet.
    pub(crate) fn new() -> Kit {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("home")).expect("a home");
        let home = folder.path().join("home").display().to_string();
        Kit { folder, vars: vec![("HOME".into(), home)] }
    }

    /// A home, and a copy of a lake that holds the demo, checked.
    pub(crate) fn with_demo() -> Kit {
        static DEMO: OnceLock<TempDir> = OnceLock::new();
        let demo = DEMO.get_or_init(|| {
            let kit = Kit::new();
            kit.run(&["sync", "--lake", "lake", "--data-dir", &demo_dir(), "--source", "demo", "--idle", "0s"])
                .exits(3);
            kit.run(&["check", "--lake", "lake", "--trust", &trust_file()]).exits(0);
            kit.folder
        });
        let kit = Kit::new();
        copy(&demo.path().join("lake"), &kit.path("lake"));
        let lake = kit.text("lake");
        kit.var("TRACE_LAKE_URL", &lake)
    }

    /// With a variable.
    pub(crate) fn var(mut self, name: &str, value: &str) -> Kit {
        self.vars.retain(|(n, _)| n != name);
        self.vars.push((name.into(), value.into()));
        self
    }

    /// Without a variable.
    pub(crate) fn without(mut self, name: &str) -> Kit {
        self.vars.retain(|(n, _)| n != name);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("a file");
    }

    /// A copy of the demo's data dir.
    pub(crate) fn data_dir(&self, name: &str) -> PathBuf {
        copy(Path::new(&demo_dir()), &self.path(name));
        self.path(name)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trace-lake"));
        self.dress(&mut command);
        command.args(args);
        command
    }

    /// Gives any command this home and nothing else.
    pub(crate) fn dress(&self, command: &mut Command) {
        command.env_clear().envs(self.vars.iter().map(|(k, v)| (k, v))).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    #[track_caller]
    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().expect("the binary runs"))
    }

    /// Runs a script of sh; `$T` is the binary.
    #[track_caller]
    pub(crate) fn sh(&self, script: &str) -> Ran {
        let mut command = Command::new("/bin/sh");
        self.dress(&mut command);
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("T", env!("CARGO_BIN_EXE_trace-lake"));
        Ran::of(command.args(["-c", script]).output().expect("sh runs"))
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The data dir of the demo.
pub(crate) fn demo_dir() -> String {
    fixtures().join("demo/data-dir").display().to_string()
}

/// Its trust file.
pub(crate) fn trust_file() -> String {
    fixtures().join("demo/trust.toml").display().to_string()
}

/// Real runs of agents, which stand beside the workspace on some machines.
pub(crate) struct Real {
    pub(crate) data_dir: String,
    pub(crate) trust: String,
}

/// Where they are; None skips the test.
#[track_caller]
pub(crate) fn real() -> Option<Real> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/real");
    if !root.is_dir() {
        skip(&format!("{} is not there", root.display()));
        return None;
    }
    let text = |name: &str| root.join(name).display().to_string();
    Some(Real { data_dir: text("data-dir"), trust: text("keys/trust.toml") })
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder to copy") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().expect("its type").is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(&from, &to).expect("a copy");
        }
    }
}
