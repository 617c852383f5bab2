//! A cluster of sixty nodes that are half empty shrinks to what its pods need, without hurting any of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed unwrap fails the test")]
#![allow(clippy::print_stdout, reason = "how much was saved is of interest")]

mod apps;
mod bound;
mod budgets;
mod cluster;
#[allow(dead_code, reason = "a part of the diary is used here")]
#[path = "../lifecycle/diary.rs"]
mod diary;
#[allow(dead_code, reason = "a part of the steps is used here")]
#[path = "../lifecycle/hands.rs"]
mod hands;
#[path = "../lab/mod.rs"]
mod lab;
mod plans;
mod sixty;
mod waits;

use windlass_testkit::plane_tests;

use sixty::sixty_half_empty_nodes_shrink_to_what_their_pods_need;

plane_tests![sixty_half_empty_nodes_shrink_to_what_their_pods_need];
