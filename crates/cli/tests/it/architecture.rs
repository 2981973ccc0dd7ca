//! The rooms of the house: which crate may see which, how long a module may be, and who prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Crates that bring much with them: whoever names one says what a room is for.
const HEAVY: [&str; 12] = [
    "arrow",
    "parquet",
    "object_store",
    "deltalake",
    "datafusion",
    "rayon",
    "tokio",
    "ed25519-dalek",
    "aho-corasick",
    "regex",
    "tokenizers",
    "minijinja",
];

/// The room that binds all others.
const BINDS: &str = "trace-lake";
const LINES: usize = 400;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Manifests of the crates by package name, with their folders.
fn manifests() -> BTreeMap<String, (PathBuf, toml::Table)> {
    let folders = std::fs::read_dir(root().join("crates")).expect("the crates").flatten().map(|entry| entry.path());
    let read = |folder: PathBuf| {
        let text = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = text.parse().expect("a manifest is TOML");
        let name = manifest["package"]["name"].as_str().expect("a name").to_owned();
        (name, (folder, manifest))
    };
    folders.filter(|folder| folder.join("Cargo.toml").is_file()).map(read).collect()
}

/// The packages under `[dependencies]` and `[target.*.dependencies]`, by their own names.
fn dependencies(manifest: &toml::Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let tables = targets.filter_map(|(_, target)| target.get("dependencies")).chain(manifest.get("dependencies"));
    let named = |(key, value): (&String, &toml::Value)| {
        value.get("package").and_then(toml::Value::as_str).unwrap_or(key).to_owned()
    };
    tables.filter_map(toml::Value::as_table).flat_map(|table| table.iter().map(named)).collect()
}

/// `.rs` files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for path in std::fs::read_dir(next).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn code_of(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("a source");
    text.lines().take_while(|line| line.trim() != "#[cfg(test)]").map(str::to_owned).collect()
}

/// What each room may see, as people read it in `crates/README.md`: rows of folder, package, job, crates.
fn rooms() -> BTreeMap<String, Vec<String>> {
    let text = std::fs::read_to_string(root().join("crates/README.md")).expect("the table of the rooms");
    let mut rooms = BTreeMap::new();
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [_, package, _, may_see] = cells[..] else { panic!("a row of another form: {row}") };
        let seen = may_see.split([',', ';']).map(|word| word.trim().trim_matches('`').to_owned());
        rooms.insert(package.to_owned(), seen.collect());
    }
    rooms
}

#[test]
fn each_crate_sees_only_what_its_room_allows() {
    let (manifests, rooms) = (manifests(), rooms());
    assert_eq!(manifests.keys().collect::<Vec<_>>(), rooms.keys().collect::<Vec<_>>(), "crates and rooms");
    assert_eq!(rooms[BINDS], ["all"]);
    let folder_of = |package: &str| manifests[package].0.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut seen = 0;
    for (package, (_, manifest)) in manifests.iter().filter(|(package, _)| *package != BINDS) {
        for dependency in dependencies(manifest) {
            let is_ours = manifests.contains_key(&dependency);
            if !is_ours && !HEAVY.contains(&dependency.as_str()) {
                continue;
            }
            let name = if is_ours { folder_of(&dependency).expect("a folder") } else { dependency };
            assert!(rooms[package].contains(&name), "{package} may not see {name}");
            seen += 1;
        }
    }
    assert!(seen > 25, "{seen} dependencies were looked at");
}

#[test]
fn only_tests_see_the_test_kit() {
    for (name, (_, manifest)) in manifests() {
        assert!(!dependencies(&manifest).contains(&"lake-testkit".to_owned()), "{name}");
    }
}

#[test]
fn modules_stay_short() {
    let root = root();
    let mut long = Vec::new();
    let mut seen = 0;
    for folder in ["crates", "benches"] {
        for path in sources(&root.join(folder)) {
            seen += 1;
            let lines = code_of(&path).len();
            if lines >= LINES {
                long.push(format!("{} has {lines} lines", path.strip_prefix(&root).unwrap_or(&path).display()));
            }
        }
    }
    assert!(seen > 200, "{seen} modules were looked at");
    assert_eq!(long, Vec::<String>::new());
}

/// Files of the libraries: of all crates but the one that binds them, without programs and tests.
fn libraries() -> Vec<PathBuf> {
    let of = |(name, (folder, _)): (String, (PathBuf, toml::Table))| match name.as_str() {
        BINDS => Vec::new(),
        _ => sources(&folder.join("src")),
    };
    let all: Vec<PathBuf> = manifests().into_iter().flat_map(of).collect();
    assert!(all.len() > 100, "{} files", all.len());
    all.into_iter().filter(|path| !path.components().any(|part| part.as_os_str() == "bin")).collect()
}

#[track_caller]
fn none_says(files: &[PathBuf], words: &[&str]) {
    for path in files {
        for (number, line) in code_of(path).iter().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in words {
                assert!(!code.contains(word), "{}:{} says `{word}`: {line}", path.display(), number + 1);
            }
        }
    }
}

#[test]
fn only_the_command_line_prints() {
    none_says(&libraries(), &["println!", "print!(", "eprint", "dbg!", "io::stdout", "io::stderr", "process::exit"]);
    // In the binary, one module does.
    let binary = sources(&root().join("crates/cli/src"));
    none_says(&binary, &["println!", "print!(", "eprint", "dbg!"]);
}

#[test]
fn what_is_only_thought_touches_no_file_and_no_network() {
    let of = |name: &str| sources(&manifests()[name].0.join("src"));
    let files: Vec<PathBuf> = ["lake-trace", "lake-verdict", "lake-secrets"].into_iter().flat_map(of).collect();
    assert!(files.len() > 30, "{} files", files.len());
    none_says(
        &files,
        &["std::fs", "fs::", "File::", "std::net", "std::process", "std::env", "env::var", "SystemTime", "Utc::now"],
    );
}

#[test]
fn nothing_but_the_store_knows_a_path_in_the_lake() {
    let store = manifests()["lake-store"].0.clone();
    let files: Vec<PathBuf> = libraries().into_iter().filter(|path| !path.starts_with(&store)).collect();
    none_says(&files, &["\"raw/", "\"log/", "_delta_log", "\"tables/", "tables/g0", "lake.json\""]);
}
