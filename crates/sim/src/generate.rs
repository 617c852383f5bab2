//! Making up histories from seeds. Which kinds of trouble there are is drawn for each seed, so that some histories have a
//! single kind, which is easy to understand, and others have all of them at once.

use fastrand::Rng;

use crate::history::{Call, CallFault, Event, Failure, History, Pool, Setting, Side, WatchedKind, What};
use crate::run::TROUBLED;

/// The history of a seed.
pub fn generate(seed: u64) -> History {
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    let pools = rng.u32(1..=2);
    let setting = Setting {
        cloud_controller: rng.bool(),
        shuffled_lists: rng.bool(),
        fills_nodes: rng.bool(),
        pools: (0..pools).map(|_| pool(&mut rng)).collect(),
    };
    let mut events = Vec::new();
    deploy(&mut rng, pools, &mut events);
    let end = u32::try_from(TROUBLED.as_millis()).unwrap_or(u32::MAX);
    for _ in 0..rng.u32(2..12) {
        let at = rng.u32(30_000..end);
        let what = user(&mut rng, pools);
        events.push(Event { at, what });
    }
    for makes in TROUBLES {
        if rng.u8(..) >= 90 {
            continue;
        }
        for _ in 0..rng.u32(1..=3) {
            let at = rng.u32(1_000..end);
            let what = makes(&mut rng);
            events.push(Event { at, what });
        }
    }
    if rng.u8(..) < 64 {
        events.extend(stale_successor(&mut rng));
    }
    events.sort_by_key(|event| event.at);
    History { seed, setting, events }
}

fn pool(rng: &mut Rng) -> Pool {
    let some = |rng: &mut Rng, range: std::ops::Range<u32>| (rng.u8(..) < 90).then(|| rng.u32(range));
    Pool {
        max_nodes: some(rng, 2..12),
        max_cores: some(rng, 8..60),
        min_nodes: some(rng, 1..3).unwrap_or(0),
        consolidates: rng.u8(..) < 200,
        lifetime: some(rng, 150..500),
        repair_after: rng.u32(30..180),
    }
}

/// A few apps at the beginning, for about twenty machines together.
fn deploy(rng: &mut Rng, pools: u32, events: &mut Vec<Event>) {
    for app in 0..rng.u32(2..6) {
        events.push(Event { at: rng.u32(0..20_000), what: new_app(rng, app, pools) });
    }
}

fn new_app(rng: &mut Rng, app: u32, pools: u32) -> What {
    let replicas = rng.u32(1..10);
    What::Deploy {
        app,
        replicas,
        cpu: 100 * rng.u32(2..35),
        memory: 256 * rng.u32(1..16),
        pool: rng.bool().then(|| rng.u32(0..pools)),
        budget: (replicas > 1 && rng.bool()).then(|| rng.u32(1..replicas)),
    }
}

fn user(rng: &mut Rng, pools: u32) -> What {
    let (number, pool) = (rng.u32(..), rng.u32(0..pools));
    match rng.u8(0..14) {
        0 => {
            let app = rng.u32(0..6);
            new_app(rng, app, pools)
        }
        1..=4 => What::Scale { app: rng.u32(0..6), replicas: rng.u32(0..12) },
        5 => What::Remove { app: rng.u32(0..6) },
        6 => What::DeletePod(number),
        7 => What::DeleteNode(number),
        8 => What::DeleteClaim(number),
        9 => What::AskToReplace(number),
        10 => What::Limit { pool, nodes: rng.bool().then(|| rng.u32(1..12)) },
        11 => What::Keep { pool, nodes: rng.u32(0..3) },
        12 => What::Relabel { pool },
        _ => What::Pause { pool, paused: rng.bool() },
    }
}

/// One function for each kind of trouble.
const TROUBLES: [fn(&mut Rng) -> What; 18] = [
    crash,
    |rng| What::Restart { replica: rng.u32(0..2) },
    jump,
    fail,
    |rng| What::Outage { replica: rng.bool().then(|| rng.u32(0..2)), seconds: rng.u32(3..90) },
    |rng| What::Lag { replica: rng.u32(0..2), kind: kind(rng), seconds: rng.u32(5..180) },
    |rng| What::Cut { replica: rng.u32(0..2), kind: kind(rng) },
    |_| What::Compact,
    provider,
    provider,
    |rng| What::ListLag { seconds: rng.u32(10..180) },
    |rng| What::SoldOut { offering: rng.u32(..), seconds: rng.u32(20..240) },
    |rng| What::LoseTag(rng.u32(..)),
    |rng| What::Vanish(rng.u32(..)),
    |rng| What::Notice { machine: rng.u32(..), seconds: rng.u32(30..200) },
    |rng| What::NeverJoin { machines: rng.u32(1..3) },
    |rng| What::Flap { node: rng.u32(..), seconds: rng.u32(5..240) },
    |rng| What::KubeletDies(rng.u32(..)),
];

fn crash(rng: &mut Rng) -> What {
    let side = if rng.bool() { Side::Before } else { Side::After };
    What::Crash { replica: rng.u32(0..2), effect: rng.u32(1..12), side, down: rng.u32(1..60) }
}

/// While nodes come up, one replica hears nothing of them, and the other one dies: if it led, its successor knows claims that
/// are further than all it knows of their nodes.
fn stale_successor(rng: &mut Rng) -> [Event; 2] {
    let (deaf, at) = (rng.u32(0..2), rng.u32(1_000..30_000));
    let lag = What::Lag { replica: deaf, kind: Some(WatchedKind::Node), seconds: rng.u32(90..180) };
    let side = if rng.bool() { Side::Before } else { Side::After };
    let crash = What::Crash { replica: 1 - deaf, effect: 1, side, down: rng.u32(40..120) };
    [Event { at, what: lag }, Event { at: at + rng.u32(15_000..60_000), what: crash }]
}

fn jump(rng: &mut Rng) -> What {
    let most = [5, 60, 600][rng.usize(0..3)];
    What::Jump { replica: rng.u32(0..2), seconds: rng.i32(-most..most) }
}

fn fail(rng: &mut Rng) -> What {
    let how = match rng.u8(0..11) {
        0..=2 => Failure::AnswerLost,
        3 => Failure::Slow,
        4 => Failure::Unsent,
        5 => Failure::Late,
        6..=7 => Failure::LateChange,
        _ => Failure::Refused([409, 429, 500, 503, 504][rng.usize(0..5)]),
    };
    What::Fail { replica: rng.u32(0..2), how, requests: rng.u32(1..10) }
}

fn kind(rng: &mut Rng) -> Option<WatchedKind> {
    rng.bool().then(|| WatchedKind::ALL[rng.usize(0..WatchedKind::ALL.len())])
}

fn provider(rng: &mut Rng) -> What {
    let call =
        [Call::Offers, Call::Launch, Call::Launch, Call::Terminate, Call::Get, Call::List][rng.usize(0..6)];
    let general = [CallFault::Refused, CallFault::Throttled, CallFault::AnswerLost, CallFault::Slow];
    let how = match call {
        Call::Launch if rng.bool() => [CallFault::NoCapacity, CallFault::Late][rng.usize(0..2)],
        Call::Terminate if rng.bool() => [CallFault::Denied, CallFault::Late][rng.usize(0..2)],
        Call::Get | Call::List if rng.bool() => CallFault::Denied,
        _ => general[rng.usize(0..general.len())],
    };
    // A single lie proves nothing; told again and again it would be the truth.
    let calls = if how == CallFault::Denied { 1 } else { rng.u32(1..5) };
    What::Provider { call, how, calls }
}
