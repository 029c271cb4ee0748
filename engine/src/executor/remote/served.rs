//! What this executor serves to others: its map outputs.

use std::sync::{Arc, OnceLock};

use millstream_shuffle::block::Codec;
use millstream_shuffle::net::serve::{BlockCursor, BlockSource, MapParts};
use millstream_shuffle::net::{Refusal, Want};
use millstream_shuffle::store::MapKey;

use crate::executor::Runtime;

/// The block server's view of the executor, which is there only after the driver has named it.
#[derive(Clone, Default)]
pub(super) struct Served(Arc<OnceLock<(Arc<Runtime>, Codec)>>);

impl Served {
    /// Serves what this executor keeps from now on; rows in memory are compressed with `codec`.
    pub(super) fn begin(&self, runtime: &Arc<Runtime>, codec: Codec) {
        let _ = self.0.set((Arc::clone(runtime), codec));
    }
}

impl BlockSource for Served {
    fn open(&self, want: &Want) -> Result<Box<dyn BlockCursor>, Refusal> {
        let Some((runtime, codec)) = self.0.get() else { return Err(Refusal::Busy) };
        let output = |&(map, attempt): &(u32, u64)| {
            let key = MapKey { shuffle: want.shuffle, map };
            match runtime.store.attempt(key) == Some(attempt) {
                true => runtime.store.get(key).map_err(|_| Refusal::Missing { map }),
                false => Err(Refusal::Missing { map }),
            }
            .map(|output| (map, output))
        };
        let outputs = want.maps.iter().map(output).collect::<Result<Vec<_>, _>>()?;
        Ok(Box::new(MapParts::new(want.partition, outputs, *codec)))
    }
}
