//! A multipart upload whose parts, end and abort are calls too.

use async_trait::async_trait;
use object_store::path::Path;
use object_store::{MultipartUpload, PutPayload, PutResult, Result, UploadPart};

use super::faults::{Faults, Op};

#[derive(Debug)]
pub(super) struct FaultyUpload {
    pub(super) inner: Box<dyn MultipartUpload>,
    pub(super) path: Path,
    pub(super) faults: Faults,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (faults, path, part) = (self.faults.clone(), self.path.clone(), self.inner.put_part(data));
        // Counted when it is asked for: parts are polled in any order.
        let (call, fault) = faults.enter(Op::PutPart, &path);
        Box::pin(async move { faults.around_call(&call, fault, part).await })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.faults.clone().around(Op::Complete, &self.path.clone(), self.inner.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        self.faults.clone().around(Op::Abort, &self.path.clone(), self.inner.abort()).await
    }
}
