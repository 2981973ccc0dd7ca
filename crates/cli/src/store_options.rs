//! Settings of the object store: environment before configuration file before the AWS profile.

use std::collections::BTreeMap;
use std::str::FromStr;

use lake_store::StoreOptions;
use object_store::aws::AmazonS3ConfigKey;
use object_store::azure::AzureConfigKey;
use object_store::gcp::GoogleConfigKey;

use crate::aws_profile;
use crate::config_file::ConfigFile;
use crate::env::Env;
use crate::exit::usage;
use crate::settings::{Origin, Setting};

/// Settings by `object_store`'s own names, each name once, whatever it was called where it came from.
pub(crate) fn store_options(
    env: &Env,
    files: &[ConfigFile],
    lake: Option<&str>,
) -> anyhow::Result<BTreeMap<String, Setting<String>>> {
    let mut out: BTreeMap<String, Setting<String>> = BTreeMap::new();
    // From the weakest to the strongest: a later one replaces an earlier one.
    for file in files.iter().rev() {
        for (key, at) in &file.store {
            let Some(name) = canonical(key) else {
                return Err(usage(
                    format!("the configuration file {}, line {}: no store knows `{key}`", file.path.display(), at.line),
                    "[store] holds object_store's own keys, such as aws_region, aws_endpoint or google_service_account",
                ));
            };
            out.insert(name, Setting::new(at.value.clone(), Origin::File(file.path.clone(), at.line)));
        }
    }
    let of_env = env.vars().filter(|(name, _)| ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|p| name.starts_with(p)));
    for (variable, value) in of_env {
        if let Some(name) = canonical(variable) {
            out.insert(name, Setting::new(value.to_owned(), Origin::Env(variable.to_owned())));
        }
    }
    if lake.is_some_and(|lake| lake.starts_with("s3://") || lake.starts_with("s3a://")) {
        add_profile(env, &mut out);
    }
    for key in ENDPOINTS {
        if let Some(setting) = out.get(key).filter(|setting| !is_http(&setting.value)) {
            let what = format!("{}: `{}` is no http:// or https:// URL", setting.origin, setting.value);
            return Err(usage(what, "an endpoint is a URL such as https://s3.example.com or http://127.0.0.1:9000"));
        }
    }
    let plain = |key: &str| out.get(key).is_some_and(|s| s.value.starts_with("http://"));
    if !out.contains_key("allow_http") && ENDPOINTS.into_iter().any(plain) {
        out.insert(
            "allow_http".into(),
            Setting::new("true".into(), Origin::Derived("the endpoint starts with http://")),
        );
    }
    Ok(out)
}

const ENDPOINTS: [&str; 3] = ["aws_endpoint", "aws_endpoint_url_s3", "azure_storage_endpoint"];

/// The store's own client breaks down on what is no URL.
fn is_http(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// A profile stands in for what nobody named. Where environment or configuration name another way to credentials, its
/// keys stay out of it.
fn add_profile(env: &Env, out: &mut BTreeMap<String, Setting<String>>) {
    const OTHER_WAYS: [&str; 5] = [
        "aws_access_key_id",
        "aws_web_identity_token_file",
        "aws_container_credentials_relative_uri",
        "aws_container_credentials_full_uri",
        "aws_skip_signature",
    ];
    let has_credentials = OTHER_WAYS.iter().any(|key| out.contains_key(*key));
    for (key, value) in aws_profile::profile(env) {
        let is_credential = key.starts_with("aws_access") || key.starts_with("aws_se");
        let known = out.contains_key(key)
            || (key == "aws_region" && out.contains_key("aws_default_region"))
            || (key == "aws_endpoint" && out.contains_key("aws_endpoint_url_s3"));
        if !(known || is_credential && has_credentials) {
            out.insert(key.to_owned(), Setting::new(value, Origin::Derived("the AWS profile")));
        }
    }
}

/// As the lake takes them.
pub(crate) fn as_options(options: &BTreeMap<String, Setting<String>>) -> StoreOptions {
    options.iter().map(|(key, setting)| (key.clone(), setting.value.clone())).collect()
}

/// A key's one name in `object_store`; None when no store knows it.
fn canonical(key: &str) -> Option<String> {
    let key = key.to_ascii_lowercase();
    let aws = AmazonS3ConfigKey::from_str(&key).ok().map(|k| k.as_ref().to_owned());
    let google = || GoogleConfigKey::from_str(&key).ok().map(|k| k.as_ref().to_owned());
    let azure = || AzureConfigKey::from_str(&key).ok().map(|k| k.as_ref().to_owned());
    match key.split('_').next() {
        Some("google") => google(),
        Some("azure") => azure(),
        _ => aws.or_else(google).or_else(azure),
    }
}

/// Whether a value may be shown: only of keys that are known to hold no secret.
pub(crate) fn is_shown(key: &str) -> bool {
    const SHOWN: [&str; 16] = [
        "aws_region",
        "aws_default_region",
        "aws_bucket",
        "aws_endpoint",
        "aws_endpoint_url_s3",
        "aws_virtual_hosted_style_request",
        "aws_conditional_put",
        "aws_role_arn",
        "aws_unsigned_payload",
        "aws_checksum_algorithm",
        "aws_skip_signature",
        "google_bucket",
        "azure_storage_account_name",
        "azure_container_name",
        "azure_storage_endpoint",
        "allow_http",
    ];
    SHOWN.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::canonical;

    #[test]
    fn each_key_has_one_name() {
        assert_eq!(canonical("AWS_ENDPOINT_URL").as_deref(), Some("aws_endpoint"));
        assert_eq!(canonical("AWS_ENDPOINT_URL_S3").as_deref(), Some("aws_endpoint_url_s3"));
        assert_eq!(canonical("region").as_deref(), Some("aws_region"));
        assert_eq!(canonical("ALLOW_HTTP").as_deref(), Some("allow_http"));
        assert_eq!(canonical("GOOGLE_SERVICE_ACCOUNT").as_deref(), Some("google_service_account"));
        assert_eq!(canonical("AZURE_STORAGE_ACCOUNT_KEY").as_deref(), Some("azure_storage_account_key"));
        assert_eq!(canonical("AWS_PROFILE"), None);
    }
}
