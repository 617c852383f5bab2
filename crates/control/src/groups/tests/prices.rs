//! What nodes and pods cost.

use windlass_core::model::{ClaimOffering, OfferingKey, Resources};
use windlass_core::{Price, model::InstanceType};

use super::machine;
use crate::groups::entry::share_of;

fn offered(kind: &InstanceType) -> ClaimOffering {
    let offering = &kind.offerings[0];
    let key: OfferingKey = kind.key(offering);
    let (capacity, allocatable) = (kind.capacity.clone(), kind.allocatable.clone());
    ClaimOffering { key, price: offering.price, capacity, allocatable }
}

#[test]
fn a_part_of_a_machine_costs_what_the_resource_costs_of_which_it_is_most() {
    let large = offered(&machine("large", 8, 400_000));
    let share = |cpu: i64, gib: i64| {
        let asked = Resources::from_iter([("cpu", cpu), ("memory", gib << 30)]);
        share_of(&asked, &large, true)
    };
    assert_eq!(
        (share(8000, 1), share(4000, 1), share(1000, 16)),
        (Some(400_000), Some(200_000), Some(200_000))
    );
    assert_eq!(share(0, 0), Some(0));
    assert_eq!(share(8001, 0), None);
}

#[test]
fn what_fits_no_machine_costs_as_much_as_so_many_of_them() {
    let small = offered(&machine("small", 2, 100_000));
    let asked = Resources::from_iter([("cpu", 6000)]);
    assert_eq!((share_of(&asked, &small, true), share_of(&asked, &small, false)), (None, Some(300_000)));
    let gpu = Resources::from_iter([("nvidia.com/gpu", 1)]);
    assert_eq!(share_of(&gpu, &small, false), None);
    let free = ClaimOffering { price: Price::ZERO, ..small };
    assert_eq!(share_of(&asked, &free, false), Some(0));
}
