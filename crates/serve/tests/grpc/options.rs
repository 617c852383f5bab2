//! How groups are treated, which is best left to the caller.

use std::time::Duration;

use tonic::{Code, Status};
use windlass_externalgrpc::wire::{
    KubernetesDuration, NodeGroupAutoscalingOptions, NodeGroupAutoscalingOptionsRequest,
};
use windlass_groups::GroupOptions;

use crate::stage::{Client, set};

fn old(seconds: i64) -> Option<KubernetesDuration> {
    (seconds > 0).then_some(KubernetesDuration { duration: seconds * 1_000_000_000 })
}

fn new(seconds: i64) -> Option<prost_types::Duration> {
    (seconds > 0).then_some(prost_types::Duration { seconds, nanos: 0 })
}

/// What a caller of some version says its defaults are.
fn defaults(version: &str) -> NodeGroupAutoscalingOptions {
    let common = NodeGroupAutoscalingOptions {
        scale_down_utilization_threshold: 0.5,
        scale_down_gpu_utilization_threshold: 0.6,
        ..Default::default()
    };
    let first = NodeGroupAutoscalingOptions {
        scale_down_unneeded_time: old(600),
        scale_down_unready_time: old(1200),
        ..common
    };
    let latest = NodeGroupAutoscalingOptions {
        zero_or_max_node_scaling: true,
        ignore_daemon_sets_utilization: true,
        scale_down_unneeded_duration: new(600),
        scale_down_unready_duration: new(1200),
        max_node_provision_duration: new(900),
        ..common
    };
    match version {
        "1.28" => first,
        "1.29" => NodeGroupAutoscalingOptions { max_node_provision_time: old(900), ..first },
        "1.36" => latest,
        _ => NodeGroupAutoscalingOptions {
            max_node_startup_duration: new(300),
            allow_non_atomic_scale_up_to_max: true,
            ..latest
        },
    }
}

async fn options(client: &mut Client, version: &str) -> Result<Option<NodeGroupAutoscalingOptions>, Status> {
    let request =
        NodeGroupAutoscalingOptionsRequest { id: "gpu".to_owned(), defaults: Some(defaults(version)) };
    Ok(client.node_group_get_options(request).await?.into_inner().node_group_autoscaling_options)
}

#[tokio::test]
async fn a_group_without_options_says_that_it_has_none() {
    let (_stage, mut client) = set().await;
    for version in ["1.29", "1.36", "1.37"] {
        assert_eq!(options(&mut client, version).await.unwrap_err().code(), Code::Unimplemented, "{version}");
    }
}

#[tokio::test]
async fn a_caller_that_would_misread_options_is_left_with_its_defaults() {
    let (stage, mut client) = set().await;
    assert_eq!(options(&mut client, "1.28").await.unwrap(), None, "it takes «unimplemented» for a failure");
    *stage.barn.options.lock().unwrap() = Some(GroupOptions::default());
    assert_eq!(options(&mut client, "1.28").await.unwrap(), None, "it would give nodes no time to join");
}

#[tokio::test]
async fn every_default_comes_back_in_the_fields_of_every_version() {
    let (stage, mut client) = set().await;
    *stage.barn.options.lock().unwrap() = Some(GroupOptions::default());
    for version in ["1.29", "1.36", "1.37"] {
        let answer = options(&mut client, version).await.unwrap().unwrap();
        let times = (answer.scale_down_unneeded_time, answer.scale_down_unready_time);
        assert_eq!(times, (old(600), old(1200)), "{version}");
        let times = (answer.scale_down_unneeded_duration, answer.scale_down_unready_duration);
        assert_eq!(times, (new(600), new(1200)), "{version}");
        let join = (answer.max_node_provision_time, answer.max_node_provision_duration);
        assert_eq!(join, (old(900), new(900)), "{version}");
        let rest = |options: NodeGroupAutoscalingOptions| NodeGroupAutoscalingOptions {
            scale_down_unneeded_time: None,
            scale_down_unready_time: None,
            max_node_provision_time: None,
            scale_down_unneeded_duration: None,
            scale_down_unready_duration: None,
            max_node_provision_duration: None,
            ..options
        };
        assert_eq!(rest(answer), rest(defaults(version)), "{version}");
    }
}

#[tokio::test]
async fn what_a_group_wants_otherwise_replaces_the_default() {
    let (stage, mut client) = set().await;
    *stage.barn.options.lock().unwrap() = Some(GroupOptions {
        scale_down_utilization_percent: Some(70),
        scale_down_unneeded_time: Some(Duration::from_secs(60)),
        max_node_provision_time: Some(Duration::MAX),
        ignore_daemon_sets_utilization: Some(false),
        ..GroupOptions::default()
    });
    for version in ["1.29", "1.36"] {
        let answer = options(&mut client, version).await.unwrap().unwrap();
        assert!((answer.scale_down_utilization_threshold - 0.7).abs() < 1e-9, "{version}");
        assert!((answer.scale_down_gpu_utilization_threshold - 0.6).abs() < 1e-9, "{version}");
        let unneeded = (answer.scale_down_unneeded_time, answer.scale_down_unneeded_duration);
        assert_eq!(unneeded, (old(60), new(60)), "{version}");
        let longest = Some(KubernetesDuration { duration: i64::MAX });
        assert_eq!(answer.max_node_provision_time, longest, "{version}");
        assert!(!answer.ignore_daemon_sets_utilization, "{version}");
    }
}
