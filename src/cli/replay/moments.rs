//! Notable events of a replay, for the timeline in text and for that in the window.

use replay::ReplayEvent;
use sim::{ControlBehaviour, Event, PlayerId, Tick};

/// Kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    HeroDown,
    Circle,
    CoreOpen,
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
    let (kind, player, text) = match *event {
        Event::Capture { circle, player } => {
            (Kind::Circle, player, format!("{} takes circle {}", name(names, player), circle + 1))
        }
        Event::Death { owner, control: ControlBehaviour::Player, .. } => {
            (Kind::HeroDown, owner, format!("{}'s hero falls", name(names, owner)))
        }
        Event::Spawn { owner, control: ControlBehaviour::Player, .. } => {
            (Kind::Other, owner, format!("{}'s hero is back", name(names, owner)))
        }
        Event::Banner { player, .. } => {
            (Kind::Other, player, format!("{} raises the banner", name(names, player)))
        }
        Event::Shield { core, open: true } => {
            (Kind::CoreOpen, core, format!("{}'s core can be hurt", name(names, core)))
        }
        Event::Shield { core, open: false } => {
            (Kind::Other, core, format!("{}'s core is shielded again", name(names, core)))
        }
        _ => return None,
    };
    Some(Moment { tick, kind, player, text })
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
