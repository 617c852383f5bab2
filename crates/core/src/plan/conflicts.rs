use super::class::Class;
use super::rules::Rule;
use super::scene::Scene;

/// Takes out of what is waiting the classes that can be packed together. Those that must not share a node with one
/// before them, in a way that cannot be told by how much of something a node has, wait for their turn.
pub(super) fn next_turn(scene: &Scene<'_, '_>, waiting: &mut [usize]) -> Vec<usize> {
    let mut turn = vec![0; waiting.len()];
    let mut chosen: Vec<&Class> = Vec::new();
    for ((class, waiting), turn) in scene.classes.iter().zip(waiting).zip(&mut turn) {
        if *waiting > 0 && !chosen.iter().any(|other| clash(scene, class, other)) {
            std::mem::swap(waiting, turn);
            chosen.extend(class.relations.matter().then_some(class));
        }
    }
    turn
}

fn clash(scene: &Scene<'_, '_>, one: &Class, other: &Class) -> bool {
    minds(scene, one, other) || minds(scene, other, one)
}

/// Whether a class has a rule about what shares its node that pods of the other could break.
fn minds(scene: &Scene<'_, '_>, class: &Class, other: &Class) -> bool {
    let counts = |tally: &usize| other.relations.counted_in.contains(tally);
    class.relations.rules.iter().filter(|rule| scene.is_of_one_node(rule)).any(|rule| match rule {
        Rule::Away { tally, own } => !own && counts(tally),
        Rule::Spread { tally, .. } => counts(tally) && !other.relations.rules.contains(rule),
        Rule::With { .. } => false,
    })
}
