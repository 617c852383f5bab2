//! Mistakes that can be planted into the controller, to see whether the simulation catches them. Without the feature
//! `planted` none ever is, and the compiler leaves the questions out.

/// A mistake that a controller can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A launch is asked for under a key of its own each time.
    ForgetsKey,
    /// A create whose answer was lost is taken for one that failed.
    TakesSilenceForNo,
    /// Only claims that a watch has shown are counted.
    CountsOnlyVisible,
    /// Claims that are on their way out are not counted.
    ForgetsLeaving,
    /// A machine that a list lacks is taken for gone.
    TrustsLists,
    /// A single answer that there is no such machine is taken for proof.
    TrustsOneAnswer,
    /// A claim is let go of before its machine is ended.
    LetsGoEarly,
    /// A machine is ended without draining its node.
    SkipsDrain,
    /// Pods are deleted where they should be evicted.
    DeletesPods,
    /// A node goes before its replacement is there.
    RemovesFirst,
    /// A leader writes on when its lease has run out.
    OutlivesLease,
    /// Nodes that nobody claims are deleted, whoever's they are.
    DeletesStrangers,
    /// Machines without a claim are left as they are.
    IgnoresOrphans,
    /// Machines are ended that no claim which a watch has shown stands for, without another look.
    EndsOrphansAtOnce,
    /// A claim's status is written over and over.
    WritesOver,
    /// A node that the index does not have is taken for gone.
    TrustsIndex,
    /// A machine that never becomes a node is waited for, for ever.
    WaitsForever,
    /// What is gone when a watch starts over is kept.
    KeepsGone,
    /// A claim is made twice.
    MakesTwice,
    /// A status is written whatever has been written since it was read.
    WritesBlindly,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::ForgetsKey,
        Self::TakesSilenceForNo,
        Self::CountsOnlyVisible,
        Self::ForgetsLeaving,
        Self::TrustsLists,
        Self::TrustsOneAnswer,
        Self::LetsGoEarly,
        Self::SkipsDrain,
        Self::DeletesPods,
        Self::RemovesFirst,
        Self::OutlivesLease,
        Self::DeletesStrangers,
        Self::IgnoresOrphans,
        Self::EndsOrphansAtOnce,
        Self::WritesOver,
        Self::TrustsIndex,
        Self::WaitsForever,
        Self::KeepsGone,
        Self::MakesTwice,
        Self::WritesBlindly,
    ];
}

#[cfg(feature = "planted")]
mod plot {
    use std::cell::Cell;

    use super::Mistake;

    thread_local! {
        static PLANTED: Cell<Option<Mistake>> = const { Cell::new(None) };
    }

    /// From now on, controllers on this thread make this mistake, and no other.
    pub fn plant(mistake: Option<Mistake>) {
        PLANTED.set(mistake);
    }

    pub(crate) fn is_planted(mistake: Mistake) -> bool {
        PLANTED.get() == Some(mistake)
    }
}

#[cfg(not(feature = "planted"))]
mod plot {
    use super::Mistake;

    #[inline]
    pub(crate) const fn is_planted(_: Mistake) -> bool {
        false
    }
}

pub(crate) use plot::is_planted;
#[cfg(feature = "planted")]
pub use plot::plant;
