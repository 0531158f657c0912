//! The card that asks about a player who is lost or holds up the match.

use super::{Overlay, PlayScreen};
use crate::gui::page::Page;
use crate::gui::screens::notices::name_of;
use crate::gui::screens::prompt::{Answer, Prompt};
use game::phrase::{duration, joined};
use game::{Control, View};
use sim::PlayerId;
use std::time::Duration;

/// Time after which a waiting player is asked again, in seconds.
const ASK_AGAIN_S: f64 = 30.0;
/// Silence after which a peer counts as lost together with a lost peer: bots live in the process of their host.
const SILENT_WITH: Duration = Duration::from_millis(1_500);

/// Answer to the loss of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LostChoice {
    /// Wait on, and ask again later.
    Wait,
    /// End the match and win it.
    Claim,
    /// End the match and win nothing.
    Leave,
}

/// Answer about a player who holds up the match, while others are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StallChoice {
    Wait,
    GoOn,
}

impl PlayScreen {
    /// Opens the card once the last of the others is lost or a player has held up the match for too long, and closes
    /// it when that player returns.
    pub(super) fn mind_the_lost(&mut self, now: f64, view: &View) {
        let is_lost = (view.lost.is_some() || view.held_up.is_some()) && self.finished.is_none();
        match self.overlay {
            Overlay::Lost if !is_lost => self.overlay = Overlay::None,
            Overlay::None if is_lost && now >= self.waits_until => {
                self.prompt = Prompt::new(now);
                self.open(Overlay::Lost);
            }
            _ => {}
        }
        if !is_lost {
            self.waits_until = 0.0;
        }
    }

    pub(super) fn ask_about_the_lost(&mut self, page: &mut Page<'_>, now: f64, view: &View) {
        let Some((_, heard_at)) = view.lost else { return self.ask_about_a_stall(page, now, view) };
        let silent_s = self.game.now().since(heard_at).as_secs_f64();
        let (title, text) = words(view, silent_s);
        let mut claim = Answer::new("claim", "Claim the win", LostChoice::Claim);
        claim.bar = is_server(view).then_some("nobody wins against a server");
        let answers = [
            Answer::new("wait", "Wait", LostChoice::Wait),
            claim,
            Answer::new("leave lost", "Leave the match", LostChoice::Leave),
        ];
        let Some(choice) = self.prompt.page(page, now, (&title, &text), &answers) else { return };
        self.overlay = Overlay::None;
        self.waits_until = now + ASK_AGAIN_S;
        match choice {
            LostChoice::Wait => {}
            LostChoice::Claim => self.game.say(Control::Claim),
            LostChoice::Leave => {
                self.has_asked_to_leave = true;
                self.game.say(Control::Leave);
            }
        }
    }

    /// Asks whether the match continues without a player; no answer means that it does.
    fn ask_about_a_stall(&mut self, page: &mut Page<'_>, now: f64, view: &View) {
        let Some((player, until)) = view.held_up else { return };
        let name = name_of(view, player);
        let left_s = until.since(self.game.now()).as_secs_f64().ceil();
        let title = format!("{name} holds up the match");
        let text = format!("It continues without {name} in {left_s:.0} s, if all others agree.");
        let without = format!("Continue without {name}");
        let answers = [
            Answer::new("wait", "Wait", StallChoice::Wait),
            Answer::new("go on without", &without, StallChoice::GoOn),
        ];
        let Some(choice) = self.prompt.page(page, now, (&title, &text), &answers) else { return };
        self.overlay = Overlay::None;
        // The card stays closed until the answer has arrived.
        self.waits_until = now + 1.0;
        self.game.say(Control::DecideOnStall { waits: choice == StallChoice::Wait });
    }
}

/// Whether the server is lost.
fn is_server(view: &View) -> bool {
    view.lost.is_some_and(|(player, _)| player == PlayerId::NONE)
}

/// Iterates over all who are lost with this player, including those who are silent by now.
fn lost_with(view: &View, lost: PlayerId) -> impl Iterator<Item = PlayerId> {
    view.current.player_ids().filter(move |&player| {
        let mut links = view.links.iter().filter(|link| link.player == player);
        player == lost || links.any(|link| link.silent_for >= SILENT_WITH)
    })
}

/// Returns the sentence of the result of a match that ended with this player lost.
pub(in crate::gui::screens) fn lost_text<'a>(
    view: Option<&View>,
    lost: PlayerId,
    name: impl Fn(PlayerId) -> &'a str,
) -> String {
    if lost == PlayerId::NONE {
        return "The connection to the server was lost".into();
    }
    let all = view.map_or_else(|| vec![lost], |view| lost_with(view, lost).collect());
    let names: Vec<&str> = all.into_iter().map(name).collect();
    format!("The connection to {} was lost", joined(&names))
}

/// Returns title and text of the card: the lost players, and what the match waits for.
fn words(view: &View, silent_s: f64) -> (String, String) {
    if is_server(view) {
        let text = format!("Silent for {}. The match continues once it answers.", duration(silent_s as u64));
        return ("The server is lost".into(), text);
    }
    let holds_up = view.lost.and_then(|(lost, _)| {
        let mut links = view.links.iter().filter(|link| link.player == lost);
        links.any(|link| link.silent_for < SILENT_WITH).then_some(lost)
    });
    if let Some(player) = holds_up {
        let name = name_of(view, player);
        let text = format!("Its game answers, but sends too few inputs. The match waits for {name}.");
        return (format!("{name} holds up the match"), text);
    }
    let lost = view.lost.map_or(PlayerId::NONE, |(player, _)| player);
    let names: Vec<&str> = lost_with(view, lost).map(|player| name_of(view, player)).collect();
    let (title, who) = match &names[..] {
        [] => ("The other player is lost".to_owned(), "that player".to_owned()),
        [name] => (format!("{name} is lost"), (*name).to_owned()),
        _ => ("All others are lost".to_owned(), joined(&names)),
    };
    let text = format!(
        "Silent for {}. The match is paused and waits for {who} to come back; a player who has closed the game \
         cannot.",
        duration(silent_s as u64)
    );
    (title, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gui::test_view::test_view;
    use net::{LinkStatus, Time};

    /// Builds a view with the links to these players, and the seconds for which each has been silent.
    fn view(lost: u8, silent: &[(u8, u64)]) -> View {
        let mut view = test_view(Some(PlayerId(1)));
        view.names = ["Anna", "Ben"].map(str::to_owned).into();
        view.lost = Some((PlayerId(lost), Time(0)));
        view.links = silent
            .iter()
            .map(|&(player, seconds)| LinkStatus {
                player: PlayerId(player),
                rtt_us: None,
                jitter_us: 0,
                lost_from_per_mille: 0,
                lost_to_per_mille: 0,
                silent_for: Duration::from_secs(seconds),
                unacknowledged: 0,
                words: None,
            })
            .collect();
        view
    }

    #[test]
    fn the_card_and_the_result_name_all_who_are_lost() {
        let (title, text) = words(&view(0, &[(0, 4)]), 4.2);
        assert_eq!(title, "Anna is lost");
        assert!(
            text.starts_with("Silent for 4 s. The match is paused and waits for Anna to come back"),
            "{text}"
        );
        // Ben stands in for a bot in Anna's process.
        let (title, text) = words(&view(1, &[(0, 5), (1, 5)]), 5.0);
        assert_eq!(title, "All others are lost");
        assert!(text.contains("waits for Anna and Ben to come back"), "{text}");
        let result = |view: Option<&View>, lost: u8| {
            lost_text(view, PlayerId(lost), |player| {
                ["Anna", "Ben"].get(player.index()).copied().unwrap_or("?")
            })
        };
        assert_eq!(
            result(Some(&view(1, &[(0, 5), (1, 5)])), 1),
            "The connection to Anna and Ben was lost",
            "as on the card"
        );
        assert_eq!(result(None, 1), "The connection to Ben was lost");
        assert_eq!(result(None, PlayerId::NONE.0), "The connection to the server was lost");
        let (title, _) = words(&view(1, &[(0, 0), (1, 5)]), 5.0);
        assert_eq!(title, "Ben is lost");
        let (title, _) = words(&view(0, &[(0, 0)]), 5.0);
        assert_eq!(title, "Anna holds up the match");
    }
}
