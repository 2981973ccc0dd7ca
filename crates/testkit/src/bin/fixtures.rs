//! Writes the committed fixtures: `make fixtures`.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn Error>> {
    let out = env::args_os().nth(1).ok_or("usage: fixtures OUT-DIR")?;
    let out = Path::new(&out);
    // Only what is made here is removed, so that a fixture that was renamed leaves nothing behind.
    for made in ["demo", "oddities"] {
        match fs::remove_dir_all(out.join(made)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    let files = lake_testkit::fixture_files();
    for (path, bytes) in &files {
        let path = out.join(path);
        fs::create_dir_all(path.parent().unwrap_or(out))?;
        fs::write(path, bytes)?;
    }
    writeln!(io::stdout(), "{} files under {}", files.len(), out.display())?;
    Ok(())
}
