use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;

use super::admission::Constraints;
use super::amounts::{Amounts, Demand, Dimensions};
use super::assignment::{Assignment, Spot, Stage, assign};
use super::attach::Attachable;
use super::candidate::{Candidate, candidates};
use super::class::{Class, Group, classes};
use super::daemons::Daemons;
use super::decision::Target;
use super::draft::Draft;
use super::keys::{Domains, Keys};
use super::kin::{self, Kin};
use super::patience;
use super::place::{Place, count_new_node, existing};
use super::promise;
use super::rules::Rule;
use super::tally::Tally;
use super::view::View;
use super::volumes::{self, Attached, VolumeNeeds};
use super::wishes::Wishes;
use super::worth::Worth;
use crate::model::{Driver, Labels, Node, Pod, PodId, PodShape, Pool};

/// All that placing and packing look at, measured and numbered.
pub(super) struct Scene<'s, 'a> {
    pub(super) view: &'s View<'a>,
    /// In the order in which they are tried.
    pub(super) pools: &'s [&'a Pool],
    pub(super) keys: Keys,
    pub(super) dimensions: Dimensions,
    pub(super) classes: Vec<Class>,
    /// What is there or on its way.
    pub(super) places: Vec<Place>,
    /// What could be launched.
    pub(super) candidates: Vec<Candidate<'a>>,
    /// What only others could get, to tell for which pods.
    pub(super) elsewhere: Vec<Candidate<'a>>,
    /// The pods that are where they are, counted.
    pub(super) tallies: Vec<Tally>,
    /// For each class the places that its pods were promised.
    pub(super) kept: Vec<Vec<Spot>>,
    /// What each class would rather have.
    pub(super) wishes: Vec<Wishes>,
    /// The tallies that some class demands something of, with the most domains that one wants.
    demanded: BTreeMap<usize, u32>,
    pub(super) worth: Worth,
    /// Since when the first of the pods of each constraint has waited; none where some are there that need not wait.
    waiting: BTreeMap<usize, Option<Timestamp>>,
    /// When the first of some pods has waited for as long as a pool wants.
    pub(super) patience_ends: Option<Timestamp>,
}

/// What nodes and machines are held against while they are measured.
pub(super) struct Setting<'s, 'a> {
    pub(super) view: &'s View<'a>,
    pub(super) constraints: Constraints<'s>,
    pub(super) dimensions: Dimensions,
    pub(super) daemons: Daemons<'a>,
    pub(super) attachable: Attachable<'a>,
    /// The volumes that several pods share.
    pub(super) shared: Attached,
    pub(super) keys: Keys,
    pub(super) kin: Kin<'a>,
    /// The pods that are to go elsewhere.
    moving: BTreeSet<&'s PodId>,
    /// In which tallies pods are counted that have been looked at, by what they share with others of their kind.
    counted: BTreeMap<Kind<'a>, Rc<[usize]>>,
}

/// What tells pods apart that are counted differently: shapes and labels are shared, so their addresses do.
type Kind<'a> = (*const PodShape, *const Labels, &'a str, bool);

impl Setting<'_, '_> {
    /// What a node has to be used.
    pub(super) fn supply_of(&self, node: &Node) -> Amounts {
        self.dimensions.supply(&node.allocatable, self.attachable.on(self.view, node))
    }

    /// What the pods on a node leave of it.
    pub(super) fn free_on(&self, node: &Node) -> Amounts {
        self.less_pods(self.supply_of(node), node)
    }

    /// What of an amount the pods on a node leave.
    pub(super) fn less_pods(&self, mut free: Amounts, node: &Node) -> Amounts {
        let pods = self.view.pods_on(&node.name);
        for pod in pods {
            free.take(&self.demand_of(pod), 1);
        }
        if self.dimensions.count_volumes() {
            let attached = volumes::attached_by(self.view.snapshot, pods);
            self.dimensions.attach(&mut free, &attached, &self.shared);
        }
        free
    }

    /// The pods on a node that are on their way out, as their priority and what they take.
    pub(super) fn leaving(&self, node: &Node) -> Vec<(i32, Demand)> {
        let leaving = self.view.pods_on(&node.name).iter().filter(|pod| pod.deleting);
        leaving.map(|pod| (pod.shape.priority, self.demand_of(pod))).collect()
    }

    /// What a pod takes of its node, volumes aside.
    fn demand_of(&self, pod: &Pod) -> Demand {
        self.dimensions.demand(&pod.shape, &VolumeNeeds::default())
    }

    /// Counts a node and the pods that stay on it.
    pub(super) fn count_node(
        &mut self,
        tallies: &mut [Tally],
        node: &Node,
        domains: &Domains,
        sees: &[bool],
    ) {
        if tallies.is_empty() {
            return;
        }
        count_new_node(tallies, domains, sees);
        let Setting { view, keys, kin, moving, counted, .. } = self;
        for pod in view.pods_on(&node.name).iter().filter(|pod| !moving.contains(&pod.id)) {
            let kind = (Arc::as_ptr(&pod.shape), Arc::as_ptr(&pod.labels), &*pod.id.namespace, pod.deleting);
            let counted = counted.entry(kind).or_insert_with(|| kin.counted_in(keys, pod).into());
            kin::count(tallies, counted, domains, sees, 1);
        }
    }
}

impl<'s, 'a> Scene<'s, 'a> {
    pub(super) fn new(
        view: &'s View<'a>,
        pools: &'s [&'a Pool],
        keys: Keys,
        kin: Kin<'a>,
        shared: Attached,
        groups: Vec<Group>,
    ) -> Self {
        let measured: Vec<_> =
            groups.iter().map(|group| (group.shape.clone(), group.needs.clone())).collect();
        let asked = measured.iter().map(|(shape, needs)| (&**shape, &**needs));
        let (constraints, numbers) = Constraints::number(asked.clone());
        let dimensions = Dimensions::of(asked);
        let daemons = Daemons::new(view, &dimensions);
        let bound = groups.iter().flat_map(|group| &group.pods);
        let moving: Vec<PodId> = bound.filter(|pod| view.is_bound(pod)).cloned().collect();
        let moving = moving.iter().collect();
        let mut tallies = kin.tallies(&keys);
        let attachable =
            if dimensions.count_volumes() { Attachable::learn(view) } else { Attachable::default() };
        let counted = BTreeMap::new();
        let mut setting = Setting {
            view,
            constraints,
            dimensions,
            daemons,
            attachable,
            shared,
            keys,
            kin,
            moving,
            counted,
        };
        let waiting = patience::waiting(view, &groups, &numbers);
        let elsewhere = candidates(pools, Driver::ClusterAutoscaler, &mut setting);
        let mut candidates = candidates(pools, Driver::Windlass, &mut setting);
        let patience_ends = patience::hold_back(&mut candidates, &waiting, view.now);
        let mut places = existing(&mut setting, &mut tallies);
        let Setting { dimensions, keys, .. } = setting;
        let worth = Worth::of(&candidates, &dimensions);
        let mut classes = classes(groups, &numbers, &dimensions, |request| worth.of_demand(request));
        let kept = promise::keep(view, &mut classes, &mut places);
        let settings = &view.snapshot.settings;
        let wishes = Wishes::of_all(&classes, &candidates, settings);
        let demanded = demanded(&classes);
        number_spots(&mut candidates, &demanded, &tallies);
        Self {
            view,
            pools,
            keys,
            dimensions,
            classes,
            places,
            candidates,
            elsewhere,
            tallies,
            kept,
            wishes,
            demanded,
            worth,
            waiting,
            patience_ends,
        }
    }

    /// Until when the pods of a class have to wait for a pool, if they have to.
    pub(super) fn waits_until(&self, class: &Class, pool: &Pool) -> Option<Timestamp> {
        let since = self.waiting.get(&class.constraint).copied().flatten()?;
        patience::until(pool, since).filter(|until| *until > self.view.now)
    }

    /// Whether a rule is about what shares a node.
    pub(super) fn is_of_one_node(&self, rule: &Rule) -> bool {
        self.tallies.get(rule.tally()).is_some_and(|tally| self.keys.is_host(tally.key))
    }

    /// Whether it matters to a class, or to others because of it, where it is.
    pub(super) fn is_tied(&self, class: &Class) -> bool {
        let counted = &class.relations.counted_in;
        !class.relations.is_free() || counted.iter().any(|tally| self.demanded.contains_key(tally))
    }

    /// Whether it makes no difference to pods that are spread which of two machines a node becomes: a domain more may
    /// have the fewest pods of all, and a domain less may leave too few.
    pub(super) fn is_indifferent(
        &self,
        tallies: &[Tally],
        one: &Candidate<'_>,
        other: &Candidate<'_>,
    ) -> bool {
        let mut counted =
            self.demanded.iter().filter_map(|(number, least)| Some((tallies.get(*number)?, least)));
        let known = |tally: &Tally| tally.has_node(&one.domains) && tally.has_node(&other.domains);
        counted.all(|(tally, min_domains)| *min_domains <= 1 && known(tally))
    }

    /// Where pods go on what is there, on its way or about to be launched.
    pub(super) fn assign(&self, drafts: &[Draft<'_, 'a>]) -> Assignment {
        let mut kept = self.kept.clone();
        let mut launches = Vec::new();
        let mut tallies = self.tallies.clone();
        for (number, draft) in drafts.iter().enumerate() {
            let place = self.places.len() + number;
            for (class, count) in &draft.load {
                if let Some(spots) = kept.get_mut(*class) {
                    spots.push(Spot { place, target: Target::Launch(number), ready: false, count: *count });
                }
            }
            let launch = draft.place(self, number);
            count_new_node(&mut tallies, &launch.domains, &launch.sees);
            launches.push(launch);
        }
        let places: Vec<&Place> = self.places.iter().chain(&launches).collect();
        assign(&Stage {
            classes: &self.classes,
            kept: &kept,
            places: &places,
            tallies: &tallies,
            worth: &self.worth,
        })
    }

    /// When the first of the nodes that pods are expected on has been out of sight for too long to be trusted.
    pub(super) fn trust_ends(&self, assignment: &Assignment) -> Option<Timestamp> {
        let trusted = self.places.iter().filter_map(|place| Some((&place.target, place.back_by?)));
        let trusted: BTreeMap<&Target, Timestamp> = trusted.collect();
        assignment.spots.iter().flatten().filter_map(|spot| trusted.get(&spot.target).copied()).min()
    }
}

/// Numbers the kinds of places that machines are, as far as any pod demands something of those around it.
fn number_spots(candidates: &mut [Candidate<'_>], demanded: &BTreeMap<usize, u32>, tallies: &[Tally]) {
    let mut known = BTreeMap::new();
    for candidate in candidates {
        let spot = demanded.keys().filter_map(|number| {
            let domain = candidate.domains.get(tallies.get(*number)?.key);
            Some((domain, candidate.sees.get(*number).copied()))
        });
        let next = known.len();
        candidate.spot = *known.entry(spot.collect::<Vec<_>>()).or_insert(next);
    }
}

fn demanded(classes: &[Class]) -> BTreeMap<usize, u32> {
    let mut demanded = BTreeMap::new();
    for rule in classes.iter().flat_map(|class| &class.relations.rules) {
        let domains = match rule {
            Rule::Spread { min_domains, .. } => *min_domains,
            Rule::With { .. } | Rule::Away { .. } => 1,
        };
        let most = demanded.entry(rule.tally()).or_insert(domains);
        *most = domains.max(*most);
    }
    demanded
}
