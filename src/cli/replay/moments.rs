//! Notable events of a replay, for the timeline in text and for that in the window.

use game::phrase::possessive;
use replay::ReplayEvent;
use sim::{ControlBehaviour, Event, PlayerId, Tick, World};

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    HeroDown,
    Circle,
    CoreOpen,
    SuddenDeath,
    /// A player left or was lost.
    Gone,
    /// The recorded hash differs from that of the world.
    #[cfg(feature = "gui")]
    Desync,
    /// Notable in text, but not marked in the window.
    Other,
}

/// Event, and the player concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) tick: Tick,
    #[cfg_attr(not(feature = "gui"), allow(dead_code, reason = "only the window has marks"))]
    pub(crate) kind: Kind,
    /// Player whose hero, circle or core it is.
    #[cfg_attr(not(feature = "gui"), allow(dead_code, reason = "only the window has marks"))]
    pub(crate) player: PlayerId,
    pub(crate) text: String,
}

/// Converts an event; `None` for those of minions, which fight all the time.
pub(crate) fn of_event(tick: Tick, event: &Event, names: &[String]) -> Option<Moment> {
    let own = |player| possessive(name(names, player));
    let (kind, player, text) = match *event {
        Event::Capture { circle, player } => {
            (Kind::Circle, player, format!("{} takes circle {}", name(names, player), circle + 1))
        }
        Event::Death { owner, control: ControlBehaviour::Player, .. } => {
            (Kind::HeroDown, owner, format!("{} hero falls", own(owner)))
        }
        Event::Spawn { owner, control: ControlBehaviour::Player, .. } => {
            (Kind::Other, owner, format!("{} hero is back", own(owner)))
        }
        Event::Banner { player, .. } => {
            (Kind::Other, player, format!("{} raises the banner", name(names, player)))
        }
        Event::Shield { core, open: true } => {
            (Kind::CoreOpen, core, format!("{} core can be hurt", own(core)))
        }
        Event::Shield { core, open: false } => {
            (Kind::Other, core, format!("{} core is shielded again", own(core)))
        }
        _ => return None,
    };
    Some(Moment { tick, kind, player, text })
}

/// Returns the start of sudden death if a step reached it; `before` is the match's clock before the step.
pub(crate) fn of_step(before: Tick, world: &World) -> Option<Moment> {
    let (begins, state) = (world.setup().sudden_death(), world.state());
    (before < begins && state.clock() >= begins).then(|| Moment {
        tick: state.tick(),
        kind: Kind::SuddenDeath,
        player: PlayerId::NONE,
        text: "sudden death begins".into(),
    })
}

/// Converts a departure or a loss.
pub(crate) fn of_departure(tick: Tick, event: ReplayEvent, names: &[String]) -> Moment {
    let (player, what) = match event {
        ReplayEvent::Left(player) => (player, "left"),
        ReplayEvent::Lost(player) => (player, "was lost"),
    };
    Moment { tick, kind: Kind::Gone, player, text: format!("{} {what}", name(names, player)) }
}

/// Returns a player's name.
pub(crate) fn name(names: &[String], player: PlayerId) -> &str {
    names.get(player.index()).map_or("somebody", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use game::data;
    use sim::{KindId, SeatSetup, Setup, TickInputs, TickRate};
    use std::sync::Arc;

    #[test]
    fn sudden_death_is_found_once_at_its_tick_and_never_by_endless_rules() {
        let mut rules = (*data::rules("standard").expect("built in")).clone();
        rules.sudden_death_ms = 1_000;
        for (is_endless, expected) in [(false, vec![Tick(60)]), (true, vec![])] {
            rules.endless = is_endless;
            let setup = Setup {
                seed: 1,
                tick_rate: TickRate::HZ_60,
                seats: (0..2).map(|team| SeatSetup { hero: KindId::default(), team }).collect(),
                rules: Arc::new(rules.clone()),
                map: data::map("duel").expect("built in"),
            };
            let mut world = World::new(setup);
            let mut found = Vec::new();
            for tick in 0..120 {
                let before = world.state().clock();
                world.step(&TickInputs::idle(Tick(tick), 2));
                found.extend(of_step(before, &world).map(|moment| moment.tick));
            }
            assert_eq!(found, expected);
        }
    }
}
