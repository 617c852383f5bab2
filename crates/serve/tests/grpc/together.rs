//! Many calls at once, and callers that leave.

use std::time::Duration;

use tokio::time::timeout;
use tonic::Code;
use windlass_externalgrpc::wire::{NodeGroupIncreaseSizeRequest, NodeGroupsRequest};

use crate::stage::{Client, ask, set};

async fn increase(mut client: Client, delta: i32) -> Result<(), tonic::Status> {
    let request = NodeGroupIncreaseSizeRequest { delta, id: "gpu".to_owned() };
    client.node_group_increase_size(request).await.map(|_| ())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_calls_are_answered_at_once() {
    let (stage, client) = set().await;
    let calls: Vec<_> = (0..300)
        .map(|number| {
            let mut client = client.clone();
            tokio::spawn(async move {
                match number % 3 {
                    0 => ask(&mut client).await.map(|size| assert_eq!(size, 3)),
                    1 => client.node_groups(NodeGroupsRequest {}).await.map(|groups| {
                        assert_eq!(groups.into_inner().node_groups.len(), 2);
                    }),
                    _ => increase(client, 1).await,
                }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(stage.barn.deeds().len(), 100);
}

#[tokio::test]
async fn an_order_that_takes_long_holds_up_nobody() {
    let (stage, mut client) = set().await;
    stage.barn.gate.forget_permits(usize::MAX);
    let order = tokio::spawn(increase(client.clone(), 2));
    stage.barn.begun.subscribe().wait_for(|&count| count == 1).await.unwrap();
    assert_eq!(ask(&mut client).await.unwrap(), 3);
    assert!(stage.barn.deeds().is_empty());
    stage.barn.gate.add_permits(1);
    order.await.unwrap().unwrap();
    assert_eq!(stage.barn.deeds(), ["increase gpu 2"]);
}

#[tokio::test]
async fn an_order_is_carried_out_to_the_end_although_its_caller_has_left() {
    let (stage, client) = set().await;
    stage.barn.gate.forget_permits(usize::MAX);
    let order = tokio::spawn(increase(client.clone(), 2));
    stage.barn.begun.subscribe().wait_for(|&count| count == 1).await.unwrap();
    order.abort();
    assert!(order.await.unwrap_err().is_cancelled());
    drop(client);
    let barn = stage.barn.clone();
    // The server has seen that its caller is gone, since it has nobody left to wait for.
    stage.strike().await;
    barn.gate.add_permits(1);
    let mut deeds = barn.deeds.subscribe();
    let done = deeds.wait_for(|deeds| deeds == &["increase gpu 2"]);
    timeout(Duration::from_secs(30), done).await.unwrap().unwrap();
}

#[tokio::test]
async fn an_order_that_fails_in_an_unforeseen_way_is_an_answer_and_not_the_end() {
    let (stage, mut client) = set().await;
    stage.barn.gate.close();
    let status = increase(client.clone(), 2).await.unwrap_err();
    assert_eq!(status.code(), Code::Internal, "{status:?}");
    assert_eq!(ask(&mut client).await.unwrap(), 3);
}
