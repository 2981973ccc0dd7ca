//! One object outside of any lake.

use bytes::Bytes;
use object_store::ObjectStoreExt;
use url::Url;

use crate::lake::{in_time, runtime};
use crate::{Error, Result, StoreOptions};

/// Reads a whole object by its URL (`file://`, `s3://`, `gs://`, `az://`).
///
/// # Errors
/// [`Error::Address`] for what is no URL, and those of the store.
pub fn read_object(address: &str, options: &StoreOptions) -> Result<Bytes> {
    let url = Url::parse(address).map_err(|e| Error::Address(address.into(), e.to_string()))?;
    let (store, path) = object_store::parse_url_opts(&url, options).map_err(Error::store("opening", address))?;
    runtime()?
        .block_on(in_time(async { store.get(&path).await?.bytes().await }))
        .map_err(Error::store("reading", address))
}
