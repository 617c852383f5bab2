//! What holds for every cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use windlass_core::model::{
    Claim, ClaimOffering, ClaimPhase, DisruptionReason, Draw, Driver, InstanceType, PodId, PodOwner,
    PodShape, PodState, Pool, Readiness, Resources, well_known,
};
use windlass_core::plan::{Launch, Target};
use windlass_core::{Plan, Price, Text};

use crate::anything::any_mixed_cluster;
use crate::cluster::{Cluster, NOW, just_made};
use crate::referee;
use crate::shapes::{asks, at, claim, launched, machine, offering, pool, selecting, taint, tolerating};

fn any_machine(number: usize) -> impl Strategy<Value = InstanceType> {
    let zones = proptest::collection::vec((0..400_000_i64, proptest::option::of(0..4_u32), 0..12_i64), 1..3);
    (1..33_i64, 1..9_i64, zones, any::<bool>()).prop_map(move |(cores, ratio, zones, gpu)| {
        let mut machine = machine(&format!("m{number}"), cores, cores * ratio, "0");
        let offered = zones.into_iter().zip(["a", "b", "c"]).map(|((price, available, avoid), zone)| {
            let mut offering = offering(zone, "0");
            offering.price = Price::from_micros(price);
            offering.available = available;
            offering.avoid_until = (avoid == 0).then(|| at(NOW + 60));
            offering
        });
        machine.offerings = offered.collect();
        if gpu && number == 0 {
            machine.capacity.set("nvidia.com/gpu", 4);
            machine.allocatable.set("nvidia.com/gpu", 4);
        }
        machine
    })
}

fn any_pool(name: &'static str) -> impl Strategy<Value = Pool> {
    let machines = (any_machine(0), any_machine(1), any_machine(2), any_machine(3));
    let ceilings = (proptest::option::of(4..200_i64), proptest::option::of(0..9_u32), 0..3_u32);
    (machines, ceilings, 0..2_i32, 0..4_u8).prop_map(
        move |((a, b, c, d), (cores, nodes, least), weight, kind)| {
            let mut pool = pool(name, vec![a, b, c, d]);
            if let Some(cores) = cores {
                pool.limits.set("cpu", cores * 1000);
            }
            (pool.max_nodes, pool.min_nodes, pool.weight) = (nodes, least, weight);
            if kind == 0 {
                pool.taints.push(taint("special"));
            }
            pool
        },
    )
}

fn any_shape() -> impl Strategy<Value = PodShape> {
    (50..9000_i64, 64..20_000_i64, 0..9_u8, 0..3_i32).prop_map(|(milli, mib, kind, priority)| {
        let mut shape = PodShape { priority, ..asks(milli, mib) };
        match kind {
            0 => shape = selecting(well_known::ZONE, "a", shape),
            1 => shape = selecting(well_known::POOL, "p1", shape),
            2 => shape.requests.set("nvidia.com/gpu", 1),
            3 | 4 => shape = tolerating("special", shape),
            5 => shape = selecting(well_known::ARCH, "amd64", shape),
            _ => {}
        }
        shape
    })
}

/// Clusters with pools, nodes of all ages and pods in all states.
fn any_cluster() -> impl Strategy<Value = Cluster> {
    let pods = proptest::collection::vec((any_shape(), 1..12_usize, 0..8_u8), 0..6);
    let claims = proptest::collection::vec((0..2_usize, 0..4_usize, 0..7_u8), 0..6);
    (any_pool("p0"), any_pool("p1"), pods, claims, any_shape()).prop_map(|(p0, p1, pods, claims, agent)| {
        let mut cluster = Cluster::new([p0.clone(), p1.clone()]);
        for (number, (pool, kind, stage)) in claims.into_iter().enumerate() {
            let pool = if pool == 0 { &p0 } else { &p1 };
            let machine = &pool.instance_types[kind];
            let name = format!("old-{number}");
            cluster = match stage {
                0 => cluster.claim(claim(&name, &pool.name, &pool.instance_types[..=kind])),
                1 => cluster.claim(launched(claim(&name, &pool.name, std::slice::from_ref(machine)), 0)),
                2 => cluster.standing_but(&name, &pool.name, machine, |claim, node| {
                    claim.phase = ClaimPhase::Registered;
                    node.readiness = Readiness::NotReady { since: at(NOW - 200) };
                }),
                3 => cluster.standing_but(&name, &pool.name, machine, |claim, node| {
                    claim.disrupted = Some(DisruptionReason::Sick);
                    node.readiness = Readiness::NotReady { since: at(NOW - 200) };
                }),
                4 => cluster.standing_but(&name, &pool.name, machine, |claim, _| claim.deleting = true),
                _ => cluster.standing(&name, &pool.name, machine),
            };
        }
        let agent = PodShape { owner: PodOwner::DaemonSet, requests: asks(100, 64).requests, ..agent };
        cluster = cluster.daemon_set("agent", agent);
        for (number, (shape, count, state)) in pods.into_iter().enumerate() {
            let name = format!("pod{number}");
            cluster = match state {
                0 => cluster.pods(&name, count, shape, &just_made()),
                1 | 2 => match cluster.0.nodes.keys().nth(state.into()).cloned() {
                    Some(node) => cluster.bound(&name, 1, shape, &node),
                    None => cluster,
                },
                _ => cluster.pending(&name, count, shape),
            };
        }
        cluster
    })
}

fn requests(cluster: &Cluster, pods: &[PodId]) -> Resources {
    let mut sum = Resources::new();
    for pod in pods {
        sum.add(&cluster.0.pods[pod].shape.requests);
    }
    sum
}

/// What pods are expected to ask for in each place.
fn loads(cluster: &Cluster, plan: &Plan) -> Vec<(Target, Resources)> {
    let mut pods: BTreeMap<Target, Vec<PodId>> = BTreeMap::new();
    for placement in &plan.placements {
        pods.entry(placement.target.clone()).or_default().push(placement.pod.clone());
    }
    pods.into_iter().map(|(target, pods)| (target, requests(cluster, &pods))).collect()
}

fn nothing_is_overcommitted(cluster: &Cluster, plan: &Plan) {
    for (target, load) in loads(cluster, plan) {
        let ways: Vec<Resources> = match &target {
            Target::Node(name) => {
                let on_it = cluster.0.pods.values().filter(|pod| pod.node() == Some(name));
                let ids: Vec<PodId> = on_it.map(|pod| pod.id.clone()).collect();
                let mut free = cluster.0.nodes[name].allocatable.clone();
                free.subtract(&requests(cluster, &ids));
                vec![free]
            }
            Target::Claim(name) => {
                let claim = &cluster.0.claims[name];
                match &claim.launched {
                    Some(launched) => vec![launched.allocatable.clone()],
                    None => claim.offerings.iter().map(|way| way.allocatable.clone()).collect(),
                }
            }
            Target::Launch(number) => {
                plan.launches[*number].offerings.iter().map(|way| way.allocatable.clone()).collect()
            }
        };
        assert!(!ways.is_empty() && ways.iter().all(|free| free.covers(&load)), "{target:?} {load} {ways:?}");
    }
    for launch in &plan.launches {
        let load = requests(cluster, &launch.pods);
        assert!(launch.offerings.iter().all(|way| way.allocatable.covers(&load)), "{launch:?}");
    }
}

fn largest(launch: &Launch) -> Resources {
    launch.offerings.iter().fold(Resources::new(), |mut most, way| {
        most.raise_to(&way.capacity);
        most
    })
}

fn limits_hold(cluster: &Cluster, plan: &Plan) {
    for pool in cluster.0.pools.values() {
        let launches: Vec<&Launch> = plan.launches.iter().filter(|launch| launch.pool == pool.name).collect();
        let claims: Vec<_> = cluster.0.claims.values().filter(|claim| claim.pool == pool.name).collect();
        let mut sum = Resources::new();
        for claim in &claims {
            sum.add(&claim.counted());
        }
        for launch in &launches {
            sum.add(&largest(launch));
        }
        for (name, limit) in pool.limits.iter() {
            assert!(launches.is_empty() || sum.get(name) <= limit, "{name} {} of {limit}", sum.get(name));
        }
        let count = claims.len() + launches.len();
        assert!(launches.is_empty() || pool.max_nodes.is_none_or(|most| count <= most as usize));
    }
}

fn stock_holds(cluster: &Cluster, plan: &Plan) {
    let mut taken: BTreeMap<_, u32> = BTreeMap::new();
    for launch in &plan.launches {
        let pool = &cluster.0.pools[&launch.pool];
        *taken.entry((pool.provider.clone(), launch.offerings[0].key.clone())).or_default() += 1;
        for way in &launch.offerings {
            let machine = pool.instance_types.iter().find(|each| each.name == way.key.instance_type).unwrap();
            let offered = machine.offerings.iter().find(|each| machine.key(each) == way.key).unwrap();
            assert!(offered.avoid_until.is_none_or(|until| until <= at(NOW)));
            let count = taken.get(&(pool.provider.clone(), way.key.clone())).copied().unwrap_or(0);
            assert!(offered.available.is_none_or(|available| available >= count.max(1)));
        }
    }
}

/// What a way to get a machine takes of which store of its pool's provider.
fn drawn<'c>(cluster: &'c Cluster, pool: &Text, way: &ClaimOffering) -> Option<(Text, &'c Draw)> {
    let pool = &cluster.0.pools[pool];
    let machine = pool.instance_types.iter().find(|each| each.name == way.key.instance_type)?;
    let offered = machine.offerings.iter().find(|each| machine.key(each) == way.key)?;
    Some((pool.provider.clone(), offered.draws.as_ref()?))
}

fn stores_hold(cluster: &Cluster, plan: &Plan) {
    let mut left: BTreeMap<(Text, Text), Resources> = BTreeMap::new();
    let mut take = |pool: &Text, way: &ClaimOffering| {
        let (provider, draw) = drawn(cluster, pool, way)?;
        let left = left.entry((provider, draw.from.clone())).or_insert_with(|| draw.left.clone());
        left.subtract(&draw.takes);
        Some(left.iter().all(|(_, amount)| amount >= 0))
    };
    let waits = |claim: &&Arc<Claim>| claim.launched.is_none() && !claim.deleting && !claim.given_up;
    for claim in cluster.0.claims.values().filter(waits) {
        take(&claim.pool, &claim.offerings[0]);
    }
    for launch in &plan.launches {
        assert_ne!(take(&launch.pool, &launch.offerings[0]), Some(false), "{launch:?}");
    }
    for launch in &plan.launches {
        for (provider, draw) in
            launch.offerings[1..].iter().filter_map(|way| drawn(cluster, &launch.pool, way))
        {
            let left = left.get(&(provider, draw.from.clone())).unwrap_or(&draw.left);
            assert!(left.covers(&draw.takes), "{launch:?}");
        }
    }
}

/// A copy of the cluster in which pods have other names and machines are listed in another order.
fn shuffled(cluster: &Cluster) -> Cluster {
    let mut shuffled = cluster.clone();
    for pool in Arc::make_mut(&mut shuffled.0.pools).values_mut() {
        let pool = Arc::make_mut(pool);
        let mut machines = (*pool.instance_types).clone();
        machines.reverse();
        for machine in &mut machines {
            machine.offerings.reverse();
        }
        pool.instance_types = Arc::new(machines);
    }
    let pods = cluster.0.pods.values().enumerate().map(|(number, pod)| {
        let mut pod = (**pod).clone();
        pod.id = PodId::new(&pod.id.namespace, &format!("{}", 10_000 - number));
        pod.shape = Arc::new((*pod.shape).clone());
        (pod.id.clone(), Arc::new(pod))
    });
    shuffled.0.pods = Arc::new(pods.collect());
    shuffled
}

/// A plan on one screen.
fn told(plan: &Plan) -> String {
    let launches = plan.launches.iter().enumerate().map(|(number, launch)| {
        let way = |way: &ClaimOffering| format!("{}/{}", way.key.instance_type, way.key.zone);
        let ways: Vec<String> = launch.offerings.iter().map(way).collect();
        let pods: Vec<&str> = launch.pods.iter().map(|pod| &*pod.name).collect();
        format!("launch {number} {} {ways:?} {pods:?}", launch.pool)
    });
    let removals = plan.removals.iter().map(|removal| format!("remove {}", removal.claim));
    let there = plan.placements.iter().filter(|each| !matches!(each.target, Target::Launch(_)));
    let there = there.map(|each| format!("{} to {:?}", each.pod, each.target));
    launches.chain(removals).chain(there).collect::<Vec<_>>().join("\n")
}

fn promises_hold(cluster: &Cluster) {
    let (plan, report) = cluster.plan();
    nothing_is_overcommitted(cluster, &plan);
    limits_hold(cluster, &plan);
    stock_holds(cluster, &plan);
    stores_hold(cluster, &plan);
    for pod in cluster.0.pods.values() {
        if matches!(pod.state, PodState::Unschedulable { .. }) {
            let placed = plan.placements.iter().filter(|placement| placement.pod == pod.id).count();
            let excused = report.unplaced.iter().filter(|unplaced| unplaced.pods.contains(&pod.id)).count();
            assert_eq!(placed + excused, 1, "{}", &pod.id);
        }
    }
    assert_eq!(report.nodes.len(), cluster.0.claims.len());
    assert!(report.lower_bound <= report.cost, "{} {}", report.lower_bound, report.cost);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn plans_keep_what_they_promise(cluster in any_cluster()) {
        promises_hold(&cluster);
    }

    #[test]
    fn nothing_comes_or_goes_in_a_pool_that_others_drive(cluster in any_cluster()) {
        let mut cluster = cluster;
        for pool in Arc::make_mut(&mut cluster.0.pools).values_mut().filter(|pool| &*pool.name == "p1") {
            Arc::make_mut(pool).driver = Driver::ClusterAutoscaler;
        }
        promises_hold(&cluster);
        let (plan, _) = cluster.plan();
        prop_assert!(plan.launches.iter().all(|launch| &*launch.pool != "p1"));
        prop_assert!(plan.going().all(|(claim, ..)| &*cluster.0.claims[claim].pool != "p1"));
        let (again, _) = cluster.clone().after(&plan).plan();
        prop_assert!(again.is_empty(), "{}\nthen {}", told(&plan), told(&again));
    }

    #[test]
    fn planning_again_right_after_a_plan_changes_nothing(cluster in any_cluster()) {
        let (plan, _) = cluster.plan();
        let (again, _) = cluster.clone().after(&plan).plan();
        prop_assert!(again.is_empty(), "{}\nthen {}", told(&plan), told(&again));
    }

    #[test]
    fn nothing_more_is_launched_while_the_machines_of_a_plan_arrive(cluster in any_cluster(), way in 0..3_usize) {
        let (plan, report) = cluster.plan();
        // What a machine leaves of limits and stock by being another than the first choice may rightly be used.
        prop_assume!(report.unplaced.is_empty() && report.short_pools.is_empty());
        // Pods that share a machine which was not got for them may find it filled otherwise when more is known of it.
        let served: Vec<&PodId> = plan.launches.iter().flat_map(|launch| &launch.pods).collect();
        let launched = cluster.after(&plan).machines_launched(way);
        let joined = launched.clone().nodes_joined();
        let ready = joined.clone().nodes_ready();
        for later in [launched, joined, ready] {
            let (later, _) = later.plan();
            let again = later.launches.iter().flat_map(|launch| &launch.pods).find(|pod| served.contains(pod));
            prop_assert_eq!(again, None);
        }
    }

    #[test]
    fn names_and_order_do_not_change_what_a_plan_costs(cluster in any_cluster()) {
        prop_assert_eq!(cluster.plan().0.launch_cost(), shuffled(&cluster).plan().0.launch_cost());
        prop_assert_eq!(cluster.plan(), cluster.clone().plan());
    }
}

/// Two pools of one provider, some of whose machines are cut from one of two hosts.
fn any_cluster_on_hosts() -> impl Strategy<Value = Cluster> {
    let hosts = proptest::collection::vec((0..64_i64, 0..256_i64), 2);
    let sources = proptest::collection::vec(proptest::option::weighted(0.8, 0..2_usize), 8);
    (any_cluster(), hosts, sources).prop_map(|(mut cluster, hosts, sources)| {
        let pools = Arc::make_mut(&mut cluster.0.pools);
        let mut machines = (*pools["p0"].instance_types).clone();
        let sized = machines.iter_mut().flat_map(|machine| {
            let takes: Resources =
                ["cpu", "memory"].into_iter().map(|name| (name, machine.capacity.get(name))).collect();
            machine.offerings.iter_mut().map(move |offering| (offering, takes.clone()))
        });
        for ((offering, takes), source) in sized.zip(sources) {
            offering.draws = source.map(|host| {
                let (cores, gib) = hosts[host];
                let left = Resources::from_iter([("cpu", cores * 1000), ("memory", gib << 30)]);
                Draw { from: format!("host-{host}").into(), left, takes }
            });
        }
        let machines = Arc::new(machines);
        for pool in pools.values_mut() {
            Arc::make_mut(pool).instance_types = machines.clone();
        }
        cluster
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn plans_take_no_more_of_a_host_than_it_has(cluster in any_cluster_on_hosts()) {
        promises_hold(&cluster);
    }

    #[test]
    fn planning_again_on_hosts_changes_nothing(cluster in any_cluster_on_hosts()) {
        let (plan, _) = cluster.plan();
        let (again, _) = cluster.clone().after(&plan).plan();
        prop_assert!(again.is_empty(), "{}\nthen {}", told(&plan), told(&again));
    }

    #[test]
    fn the_same_hosts_have_the_same_plan_in_whatever_order_things_are_listed(cluster in any_cluster_on_hosts()) {
        prop_assert_eq!(cluster.plan().0.launch_cost(), shuffled(&cluster).plan().0.launch_cost());
        prop_assert_eq!(cluster.plan(), cluster.clone().plan());
    }
}

proptest! {
    // With demands that contradict each other there is mostly more than one answer, and now and then a better one turns up
    // in the next plan. The seed is fixed so that this surprises nobody who is at work on something else; try others.
    #![proptest_config(ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        max_global_rejects: 100_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn plans_keep_what_they_promise_whatever_pods_ask_for(cluster in any_mixed_cluster()) {
        promises_hold(&cluster);
    }

    #[test]
    fn kube_scheduler_can_follow_every_plan(cluster in any_mixed_cluster(), way in 0..3_usize) {
        let (plan, _) = cluster.plan();
        prop_assert_eq!(referee::check(&cluster, &plan, way), Ok(()), "{}", told(&plan));
    }

    #[test]
    fn planning_again_gets_nothing_twice_whatever_pods_ask_for(cluster in any_mixed_cluster()) {
        let (plan, _) = cluster.plan();
        let (again, _) = cluster.clone().after(&plan).plan();
        // Pods that were not served may find a way among those that were, once it is known where those go.
        let new: usize = again.launches.iter().map(|launch| launch.pods.len()).sum();
        let (before, after) = (plan.placements.len(), again.placements.len());
        prop_assert!(new == 0 || before + new <= after, "{}\nthen {}", told(&plan), told(&again));
        let idle = again.launches.iter().any(|launch| launch.pods.is_empty());
        prop_assert!(!idle && again.removals.is_empty(), "{}\nthen {}", told(&plan), told(&again));
    }

    #[test]
    fn names_and_order_do_not_matter_whatever_pods_ask_for(cluster in any_mixed_cluster()) {
        prop_assert_eq!(cluster.plan().0.launch_cost(), shuffled(&cluster).plan().0.launch_cost());
    }
}
