//! Raw objects: segments of traces as they were, compressed.

use std::cell::RefCell;

use bytes::Bytes;
use lake_trace::Place;
use object_store::{ObjectStoreExt, PutMode};
use zstd::bulk::{Compressor, Decompressor};

use crate::{Error, Lake, Result, names};

/// Names under which other bytes may stand already, before it is given up.
const ATTEMPTS: u32 = 100;

thread_local! {
    // A context a thread: making one costs more than compressing a small trace.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses a segment: zstd level 1, with a checksum and the content's size in the frame.
///
/// # Errors
/// Those of zstd.
pub fn compress(bytes: &[u8]) -> Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let fail = |source| Error::Io { doing: "compressing", path: "a segment".into(), source };
        if slot.is_none() {
            let mut new = Compressor::new(1).map_err(fail)?;
            new.include_checksum(true).map_err(fail)?;
            *slot = Some(new);
        }
        match slot {
            Some(compressor) => compressor.compress(bytes).map_err(fail),
            None => Ok(Vec::new()),
        }
    })
}

/// The name that a segment's content decides.
pub fn name(place: &Place, session_id: &str, end: u64, sha256_end: &str) -> String {
    names::raw(place, session_id, end, sha256_end, 0).into()
}

/// Puts a compressed segment under the name that its content decides and returns that name.
///
/// An object that stands there with the same bytes is as good; with other bytes (another cut of the same file, a
/// write that a crash cut short) the next name is taken.
///
/// # Errors
/// Those of the store.
pub async fn put(
    lake: &Lake,
    place: &Place,
    session_id: &str,
    end: u64,
    sha256_end: &str,
    body: Bytes,
) -> Result<String> {
    for attempt in 0..ATTEMPTS {
        let path = names::raw(place, session_id, end, sha256_end, attempt);
        match lake.store().put_opts(&path, body.clone().into(), PutMode::Create.into()).await {
            Ok(_) => return Ok(path.into()),
            Err(object_store::Error::AlreadyExists { .. }) => {}
            Err(first) => {
                // The reply may have been lost: what stands there decides.
                match lake.store().put_opts(&path, body.clone().into(), PutMode::Create.into()).await {
                    Ok(_) => return Ok(path.into()),
                    Err(object_store::Error::AlreadyExists { .. }) => {}
                    Err(_) => return Err(Error::store("writing", lake.at(&path))(first)),
                }
            }
        }
        let there = async { lake.store().get(&path).await?.bytes().await }.await;
        match there {
            Ok(there) if there == body => return Ok(path.into()),
            Ok(_) => {}
            // A host may have the right to create here, and none to read: then the next name holds ours.
            Err(object_store::Error::PermissionDenied { .. }) => {}
            Err(e) => return Err(Error::store("reading", lake.at(&path))(e)),
        }
    }
    let path = names::raw(place, session_id, end, sha256_end, ATTEMPTS);
    Err(Error::Damaged { path: lake.at(&path), what: format!("{ATTEMPTS} objects of that name hold other bytes") })
}

/// The bytes of a raw object as they were before compression.
///
/// # Errors
/// [`Error::Purged`] when it is not there, [`Error::Damaged`], and those of the store.
pub(crate) fn read(lake: &Lake, raw: &str) -> Result<Vec<u8>> {
    let path = names::written(raw);
    let body = lake.get(&path)?.ok_or_else(|| Error::Purged(lake.at(&path)))?;
    let damaged = |what: String| Error::Damaged { path: lake.at(&path), what };
    // The frame says how large the content is; a bound guards against a damaged one.
    let size = zstd::zstd_safe::get_frame_content_size(&body).ok().flatten();
    let size = usize::try_from(size.unwrap_or(1 << 28)).unwrap_or(usize::MAX).min(1 << 30);
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let decompressor = match slot {
            Some(decompressor) => decompressor,
            None => slot.insert(Decompressor::new().map_err(|e| damaged(e.to_string()))?),
        };
        decompressor.decompress(&body, size).map_err(|e| damaged(e.to_string()))
    })
}
