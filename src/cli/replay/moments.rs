//! What in a replay is worth a line: for the time line in text and for the one in the window.

use replay::ReplayEvent;
use sim::{ControlBehaviour, Event, PlayerId, Tick};

/// Of what sort it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    HeroDown,
    Circle,
    CoreOpen,
    /// A player left or was lost.
    Gone,
    /// The recorded hash is not that of the world.
    #[cfg(feature = "gui")]
    Desync,
    /// Worth a line of text, but no mark.
    Other,
}

/// Something that happened, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) tick: Tick,
    #[cfg_attr(not(feature = "gui"), allow(dead_code, reason = "only the window has marks"))]
    pub(crate) kind: Kind,
    /// Whose hero, circle or core it is.
    #[cfg_attr(not(feature = "gui"), allow(dead_code, reason = "only the window has marks"))]
    pub(crate) player: PlayerId,
    pub(crate) text: String,
}

/// What an event is worth; minions fight all the time.
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

/// That a player left or was lost.
pub(crate) fn of_departure(tick: Tick, event: ReplayEvent, names: &[String]) -> Moment {
    let (player, what) = match event {
        ReplayEvent::Left(player) => (player, "left"),
        ReplayEvent::Lost(player) => (player, "was lost"),
    };
    Moment { tick, kind: Kind::Gone, player, text: format!("{} {what}", name(names, player)) }
}

/// A player's name.
pub(crate) fn name(names: &[String], player: PlayerId) -> &str {
    names.get(player.index()).map_or("somebody", String::as_str)
}
