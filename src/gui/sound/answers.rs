//! The sound that acknowledges a command immediately, before it has run.

use game::View;
use sim::Command;

use super::catalogue::Kind;

/// Returns the sound of a command; `None` for commands whose effect has a sound of its own when it is shown.
pub(crate) fn answer(view: &View, command: &Command) -> Option<Kind> {
    let (players, now) = (&view.current.players, view.current.clock());
    let me = view.me?.index();
    let refused_until =
        |ready_at: &[_]| ready_at.get(me).is_some_and(|&at| now < at).then_some(Kind::Refused);
    if view.current.pause().is_some() && !command.is_for_pauses() {
        return Some(Kind::Refused);
    }
    match command {
        Command::Attack(..) | Command::AttackMove(..) | Command::HeroAttack(_) => Some(Kind::Attack),
        Command::Move(..)
        | Command::Follow(..)
        | Command::Hold(..)
        | Command::Stop(_)
        | Command::HeroGo(_)
        | Command::Rally(_) => Some(Kind::Move),
        Command::Dash(_) => refused_until(&players.dash_ready_at),
        Command::Banner => refused_until(&players.banner_ready_at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sim::math::{Angle, Vec2};
    use sim::{PlayerId, Selection, Target, Tick, UnitId, When};

    use super::*;
    use crate::gui::test_view::test_view;

    #[test]
    fn commands_have_their_sounds_and_cooldowns_are_refused() {
        let mut view = test_view(Some(PlayerId(0)));
        let (all, unit) = (Selection::default, UnitId { index: 0, generation: 0 });
        let to = Target::clamped(Vec2::default());
        let table = [
            (Command::Move(all(), to, When::Now), Some(Kind::Move)),
            (Command::HeroGo(to), Some(Kind::Move)),
            (Command::Stop(all()), Some(Kind::Move)),
            (Command::AttackMove(all(), to, When::Now), Some(Kind::Attack)),
            (Command::HeroAttack(unit), Some(Kind::Attack)),
            (Command::Dash(Angle(0)), None),
            (Command::Banner, None),
            (Command::Pause, None),
        ];
        for (command, expected) in table {
            assert_eq!(answer(&view, &command), expected, "{command:?}");
        }
        let players = &mut Arc::make_mut(&mut view.current).players;
        (players.dash_ready_at[0], players.banner_ready_at[0]) = (Tick(9), Tick(9));
        assert_eq!(answer(&view, &Command::Dash(Angle(0))), Some(Kind::Refused));
        assert_eq!(answer(&view, &Command::Banner), Some(Kind::Refused));
    }
}
