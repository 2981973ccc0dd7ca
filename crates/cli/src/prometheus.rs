//! A textfile for the Prometheus node exporter, whole or not at all.

use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context as _;
use tempfile::NamedTempFile;

/// Metrics, gathered line by line.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    text: String,
    last: String,
}

impl Metrics {
    /// One sample of a gauge. Samples of one name stand together.
    pub(crate) fn gauge(&mut self, name: &str, help: &str, labels: &[(&str, &str)], value: f64) {
        if self.last != name {
            self.last = name.to_owned();
            // Writing to a string does not fail.
            let _ = writeln!(self.text, "# HELP trace_lake_{name} {help}\n# TYPE trace_lake_{name} gauge");
        }
        let labels: Vec<String> = labels.iter().map(|(k, v)| format!("{k}=\"{}\"", escape(v))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "trace_lake_{name}{labels} {value}");
    }

    /// Puts the file in its place.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let writing = || format!("writing {}", path.display());
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".trace-lake-").tempfile_in(folder).with_context(writing)?;
        file.write_all(self.text.as_bytes()).with_context(writing)?;
        readable(&file).with_context(writing)?;
        file.persist(path).map_err(|e| e.error).with_context(writing)?;
        Ok(())
    }
}

/// A temporary file is its owner's alone; an output is everyone's to read.
pub(crate) fn readable(file: &NamedTempFile) -> io::Result<()> {
    file.as_file().set_permissions(Permissions::from_mode(0o644))
}

fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::Metrics;

    #[test]
    fn samples_of_one_name_share_their_head() {
        let mut metrics = Metrics::default();
        metrics.gauge("a", "What.", &[("x", "1\"2\n")], 1.5);
        metrics.gauge("a", "What.", &[], 2.0);
        assert_eq!(
            metrics.text,
            "# HELP trace_lake_a What.\n# TYPE trace_lake_a gauge\ntrace_lake_a{x=\"1\\\"2\\n\"} 1.5\ntrace_lake_a 2\n"
        );
    }
}
