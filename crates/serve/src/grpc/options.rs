//! How a group is treated.

use std::time::Duration;

use windlass_externalgrpc::wire::NodeGroupAutoscalingOptions;
use windlass_groups::GroupOptions;

/// The caller's defaults with what a group wants otherwise. The answer replaces them as a whole, so that every one of them
/// has to be in it.
pub(super) fn options(
    defaults: NodeGroupAutoscalingOptions,
    asked: &GroupOptions,
) -> NodeGroupAutoscalingOptions {
    let mut options = defaults;
    let fraction = |percent: u32| f64::from(percent) / 100.0;
    replace(
        &mut options.scale_down_utilization_threshold,
        asked.scale_down_utilization_percent.map(fraction),
    );
    replace(
        &mut options.scale_down_gpu_utilization_threshold,
        asked.scale_down_gpu_utilization_percent.map(fraction),
    );
    replace(&mut options.ignore_daemon_sets_utilization, asked.ignore_daemon_sets_utilization);
    let time = |time: Option<Duration>| time.map(duration).map(Some);
    replace(&mut options.scale_down_unneeded_duration, time(asked.scale_down_unneeded_time));
    replace(&mut options.scale_down_unready_duration, time(asked.scale_down_unready_time));
    replace(&mut options.max_node_provision_duration, time(asked.max_node_provision_time));
    options.in_both_forms()
}

fn replace<T>(field: &mut T, asked: Option<T>) {
    if let Some(asked) = asked {
        *field = asked;
    }
}

/// What is longer than the protocol can say is as long as it can.
fn duration(time: Duration) -> prost_types::Duration {
    time.try_into().unwrap_or(prost_types::Duration { seconds: i64::MAX, nanos: 0 })
}
