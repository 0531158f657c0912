//! Output to the default device of Windows or macOS, in its own format.

use anyhow::{Context as _, bail};
use cpal::OutputCallbackInfo;
use cpal::traits::{DeviceTrait as _, HostTrait as _, StreamTrait as _};
use crossbeam_channel::bounded;

use super::mixer::BLOCK_FRAMES;
use super::source::Source;

/// Plays until the device fails.
///
/// # Errors
/// If there is no device, it does not take floats, or it disappears.
pub(super) fn play(source: Source) -> anyhow::Result<()> {
    let device = cpal::default_host().default_output_device().context("no device")?;
    let config = device.default_output_config()?.config();
    let channels = usize::from(config.channels).max(1);
    let mut source = source.at_rate(config.sample_rate);
    let fill = move |out: &mut [f32], _: &OutputCallbackInfo| {
        for block in out.chunks_mut(BLOCK_FRAMES * channels) {
            let mut frames = [[0; 2]; BLOCK_FRAMES];
            source.fill(&mut frames[..block.len() / channels]);
            for (to, frame) in block.chunks_exact_mut(channels).zip(&frames) {
                // Left, right, and silence for further channels.
                for (side, sample) in to.iter_mut().enumerate() {
                    *sample = frame.get(side).map_or(0.0, |&value| f32::from(value) / 32_768.0);
                }
            }
        }
    };
    let (failed, failure) = bounded(1);
    let fail = move |error: cpal::Error| drop(failed.try_send(error));
    let stream = device.build_output_stream(config, fill, fail, None)?;
    stream.play()?;
    bail!("the device has disappeared: {}", failure.recv()?)
}
