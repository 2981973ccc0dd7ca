//! Opens a lake: a folder, or a bucket of any kind that `object_store` knows.

use std::collections::HashMap;
use std::fmt::{Debug, Display, Formatter};
use std::future::Future;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use serde::{Deserialize, Serialize};
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::{Error, Result, names};

/// Settings of `object_store` by name (`aws_endpoint`, …), the case of the name does not matter.
pub type StoreOptions = HashMap<String, String>;

/// What `lake.json` of a lake that this binary made says.
const VERSION: u32 = 1;
/// A store that has not answered the first request by then, retries included, is taken for one that never will.
const FIRST_ANSWER: Duration = Duration::from_secs(30);

/// A lake that is open. Cheap to clone. Its methods block; do not call them from an async task.
#[derive(Clone)]
pub struct Lake(Arc<Inner>);

struct Inner {
    store: Arc<dyn ObjectStore>,
    runtime: Runtime,
    id: String,
    address: String,
    folder: Option<PathBuf>,
    /// The same folder where nothing stands between it and the store.
    direct: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
struct LakeFile {
    id: String,
    version: u32,
}

impl Debug for Lake {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lake({})", self.0.address)
    }
}

/// The folder that an address names; None when it names a bucket.
fn folder_of(address: &str) -> Result<Option<PathBuf>> {
    if !address.contains("://") {
        if address.is_empty() {
            return Err(Error::Address(address.into(), "it is empty".into()));
        }
        return std::path::absolute(address).map(Some).map_err(|source| Error::Io {
            doing: "resolving",
            path: address.into(),
            source,
        });
    }
    let url = Url::parse(address).map_err(|e| Error::Address(address.into(), e.to_string()))?;
    if url.scheme() != "file" {
        return Ok(None);
    }
    url.to_file_path().map(Some).map_err(|()| Error::Address(address.into(), "not an absolute path".into()))
}

pub(crate) fn runtime() -> Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("lake-io")
        .enable_all()
        .build()
        .map_err(|source| Error::Io { doing: "starting", path: "the threads that talk to the store".into(), source })
}

/// The answer, or an error when none came in time: later requests may wait longer, for a store that is known to be there.
pub(crate) async fn in_time<T>(answer: impl Future<Output = object_store::Result<T>>) -> object_store::Result<T> {
    tokio::time::timeout(FIRST_ANSWER, answer).await.unwrap_or_else(|_| {
        let late = format!("the store did not answer in {} s", FIRST_ANSWER.as_secs());
        Err(object_store::Error::Generic {
            store: "lake",
            source: std::io::Error::new(ErrorKind::TimedOut, late).into(),
        })
    })
}

impl Lake {
    /// Opens the lake at a path or URL (`file://`, `s3://`, `gs://`, `az://`).
    ///
    /// # Errors
    /// [`Error::NoLake`] without a `lake.json`, [`Error::NoParent`] when bucket or folder are missing, and those of the
    /// store.
    pub fn open(address: &str, options: &StoreOptions) -> Result<Lake> {
        Self::open_or_create(address, options, false)
    }

    /// As [`Lake::open`]; where bucket or parent folder exist and there is no lake yet, makes one.
    ///
    /// # Errors
    /// As [`Lake::open`].
    pub fn create(address: &str, options: &StoreOptions) -> Result<Lake> {
        Self::open_or_create(address, options, true)
    }

    fn open_or_create(address: &str, options: &StoreOptions, create: bool) -> Result<Lake> {
        let folder = folder_of(address)?;
        let store: Arc<dyn ObjectStore> = match &folder {
            Some(folder) => {
                if !folder.is_dir() {
                    let parent = folder.parent().unwrap_or(folder);
                    if let Some(file) = [folder.as_path(), parent].into_iter().find(|p| p.exists() && !p.is_dir()) {
                        return Err(Error::NoFolder(file.display().to_string()));
                    }
                    if !parent.is_dir() {
                        return Err(Error::NoParent(parent.display().to_string()));
                    }
                    if !create {
                        return Err(Error::NoLake(address.into()));
                    }
                    std::fs::create_dir(folder)
                        .or_else(|e| if folder.is_dir() { Ok(()) } else { Err(e) })
                        .map_err(|source| Error::Io { doing: "making", path: folder.display().to_string(), source })?;
                }
                let local = LocalFileSystem::new_with_prefix(folder).map_err(Error::store("opening", address))?;
                Arc::new(Ordered(local))
            }
            None => {
                let url = Url::parse(address).map_err(|e| Error::Address(address.into(), e.to_string()))?;
                object_store::ObjectStoreScheme::parse(&url).map_err(|_| {
                    Error::Address(address.into(), format!("`{}://` is no store that is known", url.scheme()))
                })?;
                let (store, prefix) =
                    object_store::parse_url_opts(&url, options).map_err(Error::store("opening", address))?;
                Arc::new(PrefixStore::new(store, prefix))
            }
        };
        let direct = folder.clone();
        Self::with(store, address, folder, direct, create)
    }

    /// A lake on a store that is open already; its root is the lake's. `folder` is where it is on this machine, if it is.
    ///
    /// # Errors
    /// As [`Lake::open`].
    pub fn over(store: Arc<dyn ObjectStore>, address: &str, folder: Option<PathBuf>, create: bool) -> Result<Lake> {
        Self::with(store, address, folder, None, create)
    }

    fn with(
        store: Arc<dyn ObjectStore>,
        address: &str,
        folder: Option<PathBuf>,
        direct: Option<PathBuf>,
        create: bool,
    ) -> Result<Lake> {
        let runtime = runtime()?;
        let path = names::lake_file();
        let read = |store: &Arc<dyn ObjectStore>| -> Result<Option<Bytes>> {
            match runtime.block_on(in_time(async { store.get(&path).await?.bytes().await })) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(object_store::Error::NotFound { source, .. }) => {
                    // A missing bucket is not an empty one.
                    let text = format!("{source:?}");
                    if text.contains("NoSuchBucket") {
                        return Err(Error::NoParent(address.into()));
                    }
                    Ok(None)
                }
                Err(e) => Err(Error::store("reading", format!("{address}/{path}"))(e)),
            }
        };
        let bytes = match read(&store)? {
            Some(bytes) => bytes,
            None if !create => return Err(Error::NoLake(address.into())),
            None => {
                let id = uuid::Uuid::new_v4().simple().to_string();
                let body = serde_json::to_vec(&LakeFile { id, version: VERSION }).unwrap_or_default();
                match runtime.block_on(store.put_opts(&path, body.into(), object_store::PutMode::Create.into())) {
                    Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => {}
                    Err(e) => return Err(Error::store("writing", format!("{address}/{path}"))(e)),
                }
                // Another may have been first: what stands there counts.
                read(&store)?.ok_or_else(|| Error::NoLake(address.into()))?
            }
        };
        let file: LakeFile = serde_json::from_slice(&bytes)
            .map_err(|e| Error::Damaged { path: format!("{address}/{path}"), what: e.to_string() })?;
        if file.version != VERSION {
            return Err(Error::Newer { path: format!("{address}/{path}"), found: file.version, known: VERSION });
        }
        Ok(Lake(Arc::new(Inner { store, runtime, id: file.id, address: address.to_owned(), folder, direct })))
    }

    /// The lake's random id.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Its address as it was given.
    pub fn address(&self) -> &str {
        &self.0.address
    }

    /// The store, rooted at the lake.
    pub fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.0.store
    }

    /// Where it is on this machine; None for a bucket.
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.0.folder.as_deref()
    }

    /// Whether it is a folder on this machine.
    pub fn is_folder(&self) -> bool {
        self.0.folder.is_some()
    }

    /// The runtime that talks to the store.
    pub fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    /// Runs a future to its end on this thread.
    pub(crate) fn wait<F: Future>(&self, future: F) -> F::Output {
        self.0.runtime.block_on(future)
    }

    /// An object's bytes; None when it is not there.
    pub(crate) fn get(&self, path: &Path) -> Result<Option<Bytes>> {
        // A file is read where it is wanted: another thread would only have to be woken.
        if let Some(folder) = &self.0.direct {
            match std::fs::read(folder.join(path.as_ref())) {
                Ok(bytes) => return Ok(Some(bytes.into())),
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                // What is wrong the store says as it does everywhere.
                Err(_) => {}
            }
        }
        match self.wait(async { self.store().get(path).await?.bytes().await }) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(e) => Err(Error::store("reading", self.at(path))(e)),
        }
    }

    /// An object's name for a person.
    pub(crate) fn at(&self, path: &Path) -> String {
        format!("{}/{path}", self.0.address.trim_end_matches('/'))
    }

    /// On a folder: everything written so far reaches the disk.
    pub(crate) fn sync_all(&self) -> Result<()> {
        let Some(folder) = &self.0.folder else { return Ok(()) };
        let fail = |source: std::io::Error| Error::Io { doing: "flushing", path: folder.display().to_string(), source };
        let root = std::fs::File::open(folder).map_err(fail)?;
        rustix::fs::syncfs(&root).map_err(|e| fail(e.into()))
    }

    /// On a folder: this object and its directory reach the disk.
    pub(crate) fn sync_one(&self, path: &Path) -> Result<()> {
        let Some(folder) = &self.0.folder else { return Ok(()) };
        let file = folder.join(path.as_ref());
        for one in [Some(file.as_path()), file.parent()].into_iter().flatten() {
            std::fs::File::open(one).and_then(|f| f.sync_all()).map_err(|source| Error::Io {
                doing: "flushing",
                path: one.display().to_string(),
                source,
            })?;
        }
        Ok(())
    }
}

/// A folder lists in the order of its directory; buckets list by name, and the Delta kernel counts on that.
#[derive(Debug)]
struct Ordered(LocalFileSystem);

impl Display for Ordered {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Display::fmt(&self.0, f)
    }
}

fn ordered(
    listing: BoxStream<'static, object_store::Result<ObjectMeta>>,
) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
    stream::once(async move {
        let mut all: Vec<ObjectMeta> = listing.try_collect().await?;
        all.sort_unstable_by(|a, b| a.location.cmp(&b.location));
        Ok::<_, object_store::Error>(stream::iter(all.into_iter().map(Ok)))
    })
    .try_flatten()
    .boxed()
}

#[async_trait::async_trait]
impl ObjectStore for Ordered {
    async fn put_opts(&self, at: &Path, payload: PutPayload, opts: PutOptions) -> object_store::Result<PutResult> {
        self.0.put_opts(at, payload, opts).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.0.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.0.get_opts(at, options).await
    }

    async fn get_ranges(&self, at: &Path, ranges: &[Range<u64>]) -> object_store::Result<Vec<Bytes>> {
        self.0.get_ranges(at, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.0.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        ordered(self.0.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        ordered(self.0.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        let mut listed = self.0.list_with_delimiter(prefix).await?;
        listed.objects.sort_unstable_by(|a, b| a.location.cmp(&b.location));
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.0.copy_opts(from, to, options).await
    }
}
