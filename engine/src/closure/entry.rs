//! Entry records and the identity of code.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::image;

/// State that goes with a piece of code: what the `_with` operations were given.
pub type Params = Arc<dyn Any + Send + Sync>;

/// Sixteen bytes that no other constant of an executable holds by chance.
const MAGIC: [u64; 2] = [0x6d69_6c6c_7374_7265, 0x616d_2d65_6e74_7279];

/// One piece of code that tasks can run: a constant in the executable, one for each operation and set
/// of type parameters.
///
/// `C` is the kind of function it holds, so that each kind has its own magic number by way of
/// [`Entry::name`]; see `rdd::op`.
#[repr(C)]
pub struct Entry<C: 'static> {
    magic: [u64; 2],
    name: fn() -> &'static str,
    encode: fn(&(dyn Any + Send + Sync)) -> Result<Vec<u8>, CodeError>,
    decode: fn(&[u8]) -> Result<Params, CodeError>,
    code: C,
}

impl<C> Entry<C> {
    /// A record for `code`, whose state is of type `P`. `name` must be unique to the operation and its
    /// type parameters: the `type_name` of a type that carries them all.
    pub const fn new<P>(name: fn() -> &'static str, code: C) -> Self
    where
        P: Serialize + for<'de> Deserialize<'de> + Send + Sync + 'static,
    {
        Self { magic: MAGIC, name, encode: encode::<P>, decode: decode::<P>, code }
    }

    /// The function.
    pub fn code(&self) -> &C {
        &self.code
    }

    /// The unique name of the operation with its type parameters.
    pub fn name(&self) -> &'static str {
        (self.name)()
    }

    /// The state in the binary form of postcard.
    ///
    /// # Errors
    /// [`CodeError::Params`] if `params` is not of this entry's type or does not serialise.
    pub fn encode(&self, params: &Params) -> Result<Vec<u8>, CodeError> {
        (self.encode)(params.as_ref())
    }

    /// The state from its binary form.
    ///
    /// # Errors
    /// [`CodeError::Params`] if the bytes are not the state of this entry.
    pub fn decode(&self, bytes: &[u8]) -> Result<Params, CodeError> {
        (self.decode)(bytes)
    }

    /// This entry's identity.
    ///
    /// # Errors
    /// [`CodeError::Image`] when the executable cannot be read.
    pub fn id(&'static self) -> Result<CodeId, CodeError> {
        let address = &raw const *self as usize;
        Ok(CodeId {
            build: image::build_id().map_err(CodeError::image)?,
            offset: (address as i64).wrapping_sub(anchor() as i64),
            name_hash: name_hash(self.name()),
        })
    }
}

impl<C> fmt::Debug for Entry<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entry({})", self.name())
    }
}

/// The identity of an [`Entry`], valid in every process of the same executable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CodeId {
    build: u64,
    offset: i64,
    name_hash: u64,
}

impl CodeId {
    /// Whether it can be an entry of this name, in whatever executable.
    pub(crate) fn is_named(self, name: &str) -> bool {
        self.name_hash == name_hash(name)
    }

    /// Finds the entry in this process.
    ///
    /// `C` must be the kind of entry the sender had; a name is unique to its kind, which the check of
    /// the name's hash relies on.
    ///
    /// # Errors
    /// [`CodeError`] says what does not fit: another build, or an identity that leads to no entry.
    #[expect(unsafe_code, reason = "the one place that turns an identity back into code")]
    pub fn resolve<C>(self) -> Result<&'static Entry<C>, CodeError> {
        let build = image::build_id().map_err(CodeError::image)?;
        if build != self.build {
            return Err(match image::has_program() {
                true => CodeError::OtherBuild { theirs: self.build, ours: build },
                false => CodeError::NoProgram { what: "it".to_owned() },
            });
        }
        let address = (anchor() as i64).wrapping_add(self.offset) as usize;
        let range = image::data_range().map_err(CodeError::image)?;
        let end = address.checked_add(size_of::<Entry<C>>());
        if address < range.start || end.is_none_or(|end| end > range.end) {
            return Err(CodeError::NotAnEntry {
                offset: self.offset,
                why: "outside the executable",
            });
        }
        if !address.is_multiple_of(align_of::<Entry<C>>()) {
            return Err(CodeError::NotAnEntry { offset: self.offset, why: "not aligned" });
        }
        let words = address as *const [u64; 2];
        // SAFETY: the address lies within the mappings of this executable's own file and is aligned
        // for `u64`. Gaps between those mappings do not occur for executables whose segments the
        // loader reserves as one span, as ELF loaders do; inaccessible padding is not part of a build
        // that has the same hash as the sender's, which took the offset from a live entry.
        let magic = unsafe { words.read() };
        if magic != MAGIC {
            return Err(CodeError::NotAnEntry { offset: self.offset, why: "wrong magic number" });
        }
        // SAFETY: only `Entry::new` writes the magic number, and `Entry` constants are never mutated,
        // so that a whole entry lies here. Its first four fields do not depend on `C`.
        let entry = unsafe { &*(address as *const Entry<C>) };
        if name_hash(entry.name()) != self.name_hash {
            return Err(CodeError::NotAnEntry { offset: self.offset, why: "another operation" });
        }
        Ok(entry)
    }
}

/// A place in this executable from which entries are measured.
fn anchor() -> usize {
    static ANCHOR: [u64; 2] = [0x616e_6368_6f72, 1];
    &raw const ANCHOR as usize
}

fn name_hash(name: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(name.as_bytes())
}

fn encode<P>(params: &(dyn Any + Send + Sync)) -> Result<Vec<u8>, CodeError>
where
    P: Serialize + 'static,
{
    let params = params
        .downcast_ref::<P>()
        .ok_or_else(|| CodeError::Params(format!("not a {}", std::any::type_name::<P>())))?;
    postcard::to_stdvec(params).map_err(|error| CodeError::Params(error.to_string()))
}

fn decode<P>(bytes: &[u8]) -> Result<Params, CodeError>
where
    P: for<'de> Deserialize<'de> + Send + Sync + 'static,
{
    let params: P =
        postcard::from_bytes(bytes).map_err(|error| CodeError::Params(error.to_string()))?;
    Ok(Arc::new(params))
}

/// Why code could not be found or its state not be carried.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CodeError {
    /// Sender and receiver run different executables.
    #[error(
        "the task was built by another executable (build {theirs:016x}, this one is {ours:016x}): start driver and \
         executors from the same binary"
    )]
    OtherBuild {
        /// The sender's build.
        theirs: u64,
        /// This process's build.
        ours: u64,
    },
    /// This executable has no code of any program's.
    #[error(
        "{what} is code of the program's, which the `millstream` tool does not have: start executors from the \
         program's own executable"
    )]
    NoProgram {
        /// What was looked for, for people.
        what: String,
    },
    /// The identity leads to no entry of this executable.
    #[error("no operation at offset {offset} of this executable: {why}")]
    NotAnEntry {
        /// The distance from the anchor.
        offset: i64,
        /// Which check failed.
        why: &'static str,
    },
    /// The state of an operation could not be encoded or decoded.
    #[error("the state given to an operation cannot be carried to an executor: {0}")]
    Params(String),
    /// The executable could not be read.
    #[error("cannot read this program's executable: {0}")]
    Image(String),
}

impl CodeError {
    fn image(error: std::io::Error) -> Self {
        Self::Image(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Add;
    static ENTRY: Entry<fn(i64, i64) -> i64> =
        Entry::new::<(u32, String)>(std::any::type_name::<Add>, |a, b| a + b);

    #[test]
    fn an_identity_leads_back_to_its_code() {
        let found = ENTRY.id().unwrap().resolve::<fn(i64, i64) -> i64>().unwrap();
        assert_eq!((found.code())(2, 3), 5);
    }

    #[test]
    fn params_survive_the_journey() {
        let params: Params = Arc::new((7u32, "seven".to_owned()));
        let back = ENTRY.decode(&ENTRY.encode(&params).unwrap()).unwrap();
        assert_eq!(back.downcast_ref::<(u32, String)>().unwrap(), &(7, "seven".to_owned()));
        let wrong: Params = Arc::new(1u8);
        assert!(matches!(ENTRY.encode(&wrong), Err(CodeError::Params(_))));
    }

    #[test]
    fn what_is_not_an_entry_is_refused() {
        let id = ENTRY.id().unwrap();
        let refused = |id: CodeId| id.resolve::<fn(i64, i64) -> i64>().unwrap_err();
        assert!(matches!(refused(CodeId { build: 1, ..id }), CodeError::OtherBuild { .. }));
        let why = |id| match refused(id) {
            CodeError::NotAnEntry { why, .. } => why,
            other => panic!("{other}"),
        };
        assert_eq!(why(CodeId { offset: i64::MAX, ..id }), "outside the executable");
        assert_eq!(why(CodeId { offset: 1 << 40, ..id }), "outside the executable");
        assert_eq!(why(CodeId { offset: id.offset + 1, ..id }), "not aligned");
        assert_eq!(why(CodeId { offset: id.offset + 8, ..id }), "wrong magic number");
        assert_eq!(why(CodeId { name_hash: 1, ..id }), "another operation");
    }
}
