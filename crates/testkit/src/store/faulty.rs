//! The wrapper itself.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt, future};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
};

use super::faults::{Call, Fault, Faults, Op, after, before};
use super::upload::FaultyUpload;

/// A store around another, that does what its [`Faults`] say. Every call counts as one, each object of a bulk delete
/// and each part of an upload too; bytes that are streamed out of a read that was let through are not calls.
pub struct FaultyStore<T> {
    inner: Arc<T>,
    faults: Faults,
}

impl<T: ObjectStore> FaultyStore<T> {
    /// Wraps `inner`. Keep a clone of `faults` to count the calls and to plan more.
    pub fn new(inner: T, faults: Faults) -> FaultyStore<T> {
        FaultyStore { inner: Arc::new(inner), faults }
    }

    /// The plan and the log.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// A listing is one call: it fails before its first item, or after its last.
    fn listing(
        &self,
        (call, fault): (Call, Option<Fault>),
        items: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let (faults, first, last) = (self.faults.clone(), call.clone(), call.clone());
        let shown = items.try_filter(move |meta| future::ready(!faults.hides(&meta.location, &call)));
        let end = stream::once(async move { after(&last, fault) }).try_filter_map(|()| future::ready(Ok(None)));
        let all = shown.chain(end);
        stream::once(async move { before(&first, fault).await.map(|()| all) }).try_flatten().boxed()
    }

    /// Whether a listing by `call` shows anything under `prefix`.
    async fn shows_prefix(&self, prefix: &Path, call: &Call) -> Result<bool> {
        let mut items = self.inner.list(Some(prefix));
        while let Some(meta) = items.try_next().await? {
            if !self.faults.hides(&meta.location, call) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<T> fmt::Debug for FaultyStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStore").field("calls", &self.faults.count()).finish_non_exhaustive()
    }
}

impl<T: ObjectStore> fmt::Display for FaultyStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultyStore({})", self.inner)
    }
}

#[async_trait]
impl<T: ObjectStore> ObjectStore for FaultyStore<T> {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.faults.around(Op::Put, location, self.inner.put_opts(location, payload, opts)).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let begin = self.inner.put_multipart_opts(location, opts);
        let inner = self.faults.around(Op::PutMultipart, location, begin).await?;
        Ok(Box::new(FaultyUpload { inner, path: location.clone(), faults: self.faults.clone() }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let op = if options.head { Op::Head } else { Op::Get };
        self.faults.around(op, location, self.inner.get_opts(location, options)).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.faults.around(Op::GetRanges, location, self.inner.get_ranges(location, ranges)).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let (inner, faults) = (Arc::clone(&self.inner), self.faults.clone());
        locations
            .and_then(move |location| {
                let (inner, faults) = (Arc::clone(&inner), faults.clone());
                async move {
                    faults.around(Op::Delete, &location, inner.delete(&location)).await?;
                    Ok(location)
                }
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let entered = self.faults.enter(Op::List, &prefix.cloned().unwrap_or_default());
        self.listing(entered, self.inner.list(prefix))
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        let entered = self.faults.enter(Op::List, &prefix.cloned().unwrap_or_default());
        self.listing(entered, self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let (call, fault) = self.faults.enter(Op::ListWithDelimiter, &prefix.cloned().unwrap_or_default());
        let work = async {
            let mut all = self.inner.list_with_delimiter(prefix).await?;
            all.objects.retain(|meta| !self.faults.hides(&meta.location, &call));
            if self.faults.is_late() {
                let mut shown = Vec::new();
                for prefix in all.common_prefixes {
                    if self.shows_prefix(&prefix, &call).await? {
                        shown.push(prefix);
                    }
                }
                all.common_prefixes = shown;
            }
            Ok(all)
        };
        self.faults.around_call(&call, fault, work).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.faults.around(Op::Copy, to, self.inner.copy_opts(from, to, options)).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.faults.around(Op::Rename, to, self.inner.rename_opts(from, to, options)).await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use object_store::memory::InMemory;
    use object_store::{Error, PutMode, WriteMultipart};

    use super::*;

    fn store(faults: &Faults) -> Arc<dyn ObjectStore> {
        Arc::new(FaultyStore::new(InMemory::new(), faults.clone()))
    }

    async fn names(store: &Arc<dyn ObjectStore>) -> Result<Vec<String>> {
        store.list(None).map_ok(|meta| meta.location.to_string()).try_collect().await
    }

    #[tokio::test]
    async fn every_call_is_counted_with_its_name_and_path() {
        let faults = Faults::none();
        let store = store(&faults);
        let path = Path::parse("org=a%2Fb/x").expect("a path");
        store.put(&path, "1".into()).await.expect("a put");
        store.get(&path).await.expect("a get");
        store.head(&path).await.expect("a head");
        assert_eq!(names(&store).await.expect("a listing"), ["org=a%2Fb/x"]);
        store.list_with_delimiter(None).await.expect("a level");
        store.copy(&path, &Path::from("y")).await.expect("a copy");
        store.delete(&path).await.expect("a delete");
        let upload = store.put_multipart(&Path::from("z")).await.expect("an upload");
        let mut upload = WriteMultipart::new_with_chunk_size(upload, 4);
        upload.write(b"123456");
        upload.finish().await.expect("a finish");
        let ops: Vec<Op> = faults.calls().iter().map(|call| call.op).collect();
        use Op::*;
        assert_eq!(
            ops,
            [Put, Get, Head, List, ListWithDelimiter, Copy, Delete, PutMultipart, PutPart, PutPart, Complete]
        );
        assert_eq!(faults.calls()[6].to_string(), "call 7 (Delete org=a%2Fb/x)");
        assert_eq!(faults.count(), 11);
    }

    #[tokio::test]
    async fn a_call_fails_before_or_after_it_is_done() {
        let path = Path::from("x");
        for (fault, there) in [(Fault::Fail, 0), (Fault::FailAfter, 1)] {
            let faults = Faults::at(1, fault);
            let store = store(&faults);
            let opts = || PutOptions::from(PutMode::Create);
            let error = store.put_opts(&path, "1".into(), opts()).await.expect_err("the first put fails");
            assert!(matches!(error, Error::Generic { .. }), "{error}");
            assert!(error.to_string().contains("call 1 (Put x)"), "{error}");
            assert_eq!(names(&store).await.expect("a listing").len(), there, "{fault:?}");
            assert_eq!(store.put_opts(&path, "1".into(), opts()).await.is_ok(), there == 0, "{fault:?}");
        }
    }

    #[tokio::test]
    async fn after_a_crash_nothing_works_until_it_is_healed() {
        let faults = Faults::at(2, Fault::Kill);
        let store = store(&faults);
        store.put(&Path::from("a"), "1".into()).await.expect("the first call works");
        store.put(&Path::from("b"), "1".into()).await.expect_err("the second does not");
        names(&store).await.expect_err("nor does a listing");
        store.delete(&Path::from("a")).await.expect_err("nor a delete");
        faults.heal();
        assert_eq!(names(&store).await.expect("a listing"), ["a"]);
    }

    #[tokio::test]
    async fn a_listing_that_loses_its_reply_fails_after_its_items() {
        let faults = Faults::at(2, Fault::FailAfter);
        let store = store(&faults);
        store.put(&Path::from("a"), "1".into()).await.expect("a put");
        let items: Vec<_> = store.list(None).collect().await;
        assert!(items.len() == 2 && items[0].is_ok() && items[1].is_err());
    }

    #[tokio::test]
    async fn a_late_listing_leaves_out_what_was_put_last() {
        let faults = Faults::none();
        faults.list_late(2);
        let store = store(&faults);
        store.put(&Path::from("p/a"), "1".into()).await.expect("a put");
        assert!(names(&store).await.expect("a listing").is_empty());
        assert!(store.list_with_delimiter(None).await.expect("a level").common_prefixes.is_empty());
        assert_eq!(names(&store).await.expect("a listing"), ["p/a"]);
        assert_eq!(store.list_with_delimiter(None).await.expect("a level").common_prefixes.len(), 1);
    }

    #[tokio::test]
    async fn a_call_can_take_long() {
        let store = store(&Faults::at(1, Fault::Delay(Duration::from_millis(30))));
        let began = std::time::Instant::now();
        store.put(&Path::from("a"), "1".into()).await.expect("a put");
        assert!(began.elapsed() >= Duration::from_millis(30));
    }
}
