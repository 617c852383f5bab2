//! What is said to a caller.

use std::time::Duration;

use tonic::{Code, Status};
use windlass_core::Price;
use windlass_externalgrpc::wire::instance_status::InstanceState as WireState;
use windlass_externalgrpc::wire::{self, InstanceErrorInfo, InstanceStatus};
use windlass_groups::{Group, GroupError, Instance, InstanceError, InstanceState};

/// The caller's class of errors for which it turns to other groups.
const OUT_OF_RESOURCES: i32 = 1;
/// The caller's class of all other errors.
const OTHER: i32 = 99;
/// A sentence travels in a header, and the caller accepts no header of any size.
const LONGEST_SENTENCE: usize = 1000;

/// The code and the sentence of a refusal.
pub(super) fn refusal(error: GroupError) -> Status {
    let code = match error {
        GroupError::NotFound(_) => Code::NotFound,
        GroupError::Invalid(_) => Code::InvalidArgument,
        GroupError::Refused(_) => Code::FailedPrecondition,
        GroupError::NotLeading(_) | GroupError::Unavailable(_) => Code::Unavailable,
    };
    let mut sentence = error.to_string();
    if sentence.len() > LONGEST_SENTENCE {
        sentence.truncate(sentence.floor_char_boundary(LONGEST_SENTENCE));
        sentence.push_str(" ...");
    }
    Status::new(code, sentence)
}

/// A group.
pub(super) fn group(group: Group) -> wire::NodeGroup {
    wire::NodeGroup {
        id: group.id,
        min_size: count(group.min),
        max_size: count(group.max),
        debug: group.debug,
    }
}

/// An instance.
pub(super) fn instance(instance: Instance) -> wire::Instance {
    let state = match instance.state {
        InstanceState::Running => WireState::InstanceRunning,
        InstanceState::Creating => WireState::InstanceCreating,
        InstanceState::Deleting => WireState::InstanceDeleting,
    };
    let status = InstanceStatus { instance_state: state.into(), error_info: instance.error.map(error_info) };
    wire::Instance { id: instance.id, status: Some(status) }
}

fn error_info(error: InstanceError) -> InstanceErrorInfo {
    // To the caller an error without a code is none.
    let error_code = if error.code.is_empty() { "Unknown".to_owned() } else { error.code };
    let instance_error_class = if error.out_of_resources { OUT_OF_RESOURCES } else { OTHER };
    InstanceErrorInfo { error_code, error_message: error.message, instance_error_class }
}

/// A number of nodes. More than the protocol can say are as many as it can.
pub(super) fn count(nodes: u32) -> i32 {
    i32::try_from(nodes).unwrap_or(i32::MAX)
}

/// What something costs over a span of time, in dollars.
#[expect(clippy::cast_precision_loss, reason = "prices are far below 2^52 micro-dollars")]
pub(super) fn cost(per_hour: Price, span: Duration) -> f64 {
    per_hour.micros() as f64 / 1e6 * (span.as_secs_f64() / 3600.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tonic::Code;
    use windlass_core::Price;
    use windlass_groups::GroupError;

    use super::{cost, refusal};

    #[test]
    fn a_price_is_that_of_the_hours() {
        let price = Price::from_micros(192_000);
        assert!((cost(price, Duration::from_secs(3600)) - 0.192).abs() < 1e-12);
        assert!((cost(price, Duration::from_secs(5400)) - 0.288).abs() < 1e-12);
        assert!(cost(price, Duration::ZERO).abs() < 1e-12);
    }

    #[test]
    fn a_sentence_without_end_is_cut_between_letters() {
        let status = refusal(GroupError::NotFound(format!("no group {}", "ü".repeat(100_000))));
        assert_eq!(status.code(), Code::NotFound);
        assert!(status.message().starts_with("no group ü") && status.message().len() < 1100);
    }
}
