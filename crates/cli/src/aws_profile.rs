//! Credentials and region of a profile, from the two files that the AWS tools write.

use std::collections::BTreeMap;

use crate::env::Env;

/// What a profile says, by `object_store`'s names. Empty without files or profile.
pub(crate) fn profile(env: &Env) -> BTreeMap<&'static str, String> {
    let name = env.get("AWS_PROFILE").or_else(|| env.get("AWS_DEFAULT_PROFILE")).unwrap_or("default");
    let file = |variable: &str, fallback: &str| {
        let path = env.get(variable).map(|p| env.path(p, &env.here));
        let path = path.or_else(|| env.home().map(|home| home.join(".aws").join(fallback)))?;
        std::fs::read_to_string(path).ok()
    };
    let mut out = BTreeMap::new();
    let config = file("AWS_CONFIG_FILE", "config").map(|text| {
        // In this file every profile but the default one has a word before its name.
        let section = if name == "default" { name.to_owned() } else { format!("profile {name}") };
        section_of(&text, &section)
    });
    let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials").map(|text| section_of(&text, name));
    for section in [config, credentials].into_iter().flatten() {
        for (key, ours) in [
            ("aws_access_key_id", "aws_access_key_id"),
            ("aws_secret_access_key", "aws_secret_access_key"),
            ("aws_session_token", "aws_session_token"),
            ("region", "aws_region"),
            ("endpoint_url", "aws_endpoint"),
        ] {
            if let Some(value) = section.get(key) {
                out.insert(ours, value.clone());
            }
        }
    }
    out
}

/// The keys of one section of an INI file. Nested values (indented lines) are passed by.
fn section_of(text: &str, wanted: &str) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            inside = name.split_whitespace().eq(wanted.split_whitespace());
        } else if inside
            && !line.starts_with([' ', '\t'])
            && let Some((key, value)) = trimmed.split_once('=')
        {
            out.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::section_of;

    #[test]
    fn one_section_is_read() {
        let text = "# a\n[default]\nregion = eu-1\n[profile  work]\nregion=eu-2\ns3 =\n  endpoint_url = x\nAWS_ACCESS_KEY_ID = a=b\n";
        let work = section_of(text, "profile work");
        assert_eq!(work.get("region").map(String::as_str), Some("eu-2"));
        assert_eq!(work.get("aws_access_key_id").map(String::as_str), Some("a=b"));
        assert_eq!(work.get("endpoint_url"), None);
        assert_eq!(section_of(text, "default").len(), 1);
        assert!(section_of(text, "none").is_empty());
    }
}
