use super::*;
use crate::gui::sound::mixer::BLOCK_FRAMES;

const RATE: u32 = 48_000;
const BAR: usize = (RATE / 1000 * STEP_MS * STEPS_PER_BAR) as usize;

fn played(music: &mut Music, frames: usize) -> Vec<[f32; 2]> {
    let mut out = vec![[0.0; 2]; frames];
    // The mixer takes the music in blocks.
    out.chunks_mut(BLOCK_FRAMES).for_each(|block| music.fill(block));
    out
}

fn started(state: MusicState) -> Music {
    let mut music = Music::new(RATE);
    music.set(state);
    music
}

/// Returns the layers that are heard.
fn layers(music: &Music) -> Vec<Layer> {
    let heard = LAYERS.iter().zip(music.gains).filter(|(_, gain)| *gain > 0.0);
    heard.map(|((layer, _), _)| *layer).collect()
}

fn peak(frames: &[[f32; 2]]) -> f32 {
    frames.iter().flatten().fold(0.0, |peak, side| side.abs().max(peak))
}

/// Returns the largest difference between two neighbouring frames.
fn largest_step(frames: &[[f32; 2]]) -> f32 {
    let steps = frames.array_windows().map(|[a, b]| (a[0] - b[0]).abs().max((a[1] - b[1]).abs()));
    steps.fold(0.0, f32::max)
}

#[test]
fn every_state_but_silence_is_heard_and_lies_well_below_full_scale() {
    for state in MusicState::ALL {
        let mut music = started(state);
        let peak = peak(&played(&mut music, 16 * BAR));
        let expected = if state == MusicState::Silent { 0.0..=0.0 } else { 0.03..=0.5 };
        assert!(expected.contains(&peak), "{state:?}: {peak}");
    }
}

#[test]
fn a_layer_enters_at_a_bar_and_fades_over_bars() {
    let mut music = started(MusicState::Calm);
    played(&mut music, 2 * BAR + BAR / 3);
    music.set(MusicState::Contact);
    played(&mut music, BAR / 3);
    assert_eq!(layers(&music), [Layer::Ground, Layer::Figure], "before the bar");
    played(&mut music, BAR / 2);
    assert_eq!(layers(&music), [Layer::Ground, Layer::Figure, Layer::Pulse]);
    played(&mut music, 2 * BAR);
    assert_eq!(layers(&music), [Layer::Ground, Layer::Pulse]);
    assert_eq!(music.gains[Layer::Pulse as usize], 1.0);
}

#[test]
fn silence_comes_within_a_bar_and_sudden_death_begins_the_score_anew() {
    let mut music = started(MusicState::Danger);
    played(&mut music, 3 * BAR + BAR / 3);
    music.set(MusicState::Silent);
    played(&mut music, BAR / 2);
    assert_eq!(layers(&music), []);
    assert_eq!(peak(&played(&mut music, BAR)), 0.0);
    music.set(MusicState::SuddenDeath);
    played(&mut music, 1);
    assert_eq!((layers(&music), music.step), (vec![Layer::Drone], 1));
}

/// A loop of samples has a seam at which it can click; notes that ring over the end of the score have none.
#[test]
fn no_pass_of_a_score_begins_with_a_click() {
    for (state, bars) in [
        (MusicState::Calm, 16),
        (MusicState::Contact, 4),
        (MusicState::Danger, 4),
        (MusicState::SuddenDeath, 4),
        (MusicState::Victory, 8),
        (MusicState::Defeat, 8),
    ] {
        let mut music = started(state);
        let frames = played(&mut music, (2 * bars + 1) * BAR);
        // From the second bar on nothing fades in.
        let within = [&frames[BAR..bars * BAR - 500], &frames[bars * BAR + 500..2 * bars * BAR - 500]];
        let whole = within.into_iter().map(largest_step).fold(0.0, f32::max);
        for pass in [bars, 2 * bars] {
            let seam = largest_step(&frames[pass * BAR - 500..pass * BAR + 500]);
            println!("{state:?}: step at the seam {seam:.5}, elsewhere {whole:.5}");
            assert!(seam <= 1.2 * whole, "{state:?}: {seam} at the seam, {whole} elsewhere");
        }
    }
}

#[test]
fn changing_the_state_at_every_moment_never_clicks() {
    let mut music = Music::new(RATE);
    let mut frames = Vec::new();
    for turn in 0..200 {
        music.set(MusicState::ALL[turn * 5 % 8]);
        frames.extend(played(&mut music, 4_321));
    }
    let step = largest_step(&frames);
    assert!(step < 0.03, "{step}");
}

#[test]
fn layers_have_their_numbers() {
    assert!(LAYERS.iter().enumerate().all(|(number, (layer, _))| *layer as usize == number));
    assert!(MusicState::ALL.iter().enumerate().all(|(number, state)| *state as usize == number));
}
