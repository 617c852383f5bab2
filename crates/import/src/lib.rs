//! Manifests of other node autoscalers, as Windlass' own.
//!
//! Data flows top to bottom. [`import`] takes objects of `karpenter.sh` and `kubenodesmith.parawell.cloud` and makes of each what
//! stands for it here. `Fields` hands out the fields of an object one by one, so that whatever nobody has asked for is known
//! to be left over and is told; nothing is lost in silence. `admit` holds the result to what the API server would hold it to.
//! What was left out or means something else now is a [`Remark`]; what cannot be read is a
//! [`Fault`](windlass_manifests::Fault).
//!
//! What is made keeps the behaviour that it had: where a field that is not given means something else here, what it meant there
//! is written out.

mod admit;
mod duration;
mod fields;
mod handover;
mod head;
mod import;
mod karpenter;
mod kubenodesmith;
mod remark;

pub use import::{Imported, Options, import};
pub use remark::{Outcome, Remark};
