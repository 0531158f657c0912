//! PulseAudio's native protocol, over its socket: the server requests bytes and receives them.

use anyhow::{Context as _, bail};
use pulseaudio::protocol::{
    self, AuthParams, AuthReply, ChannelMap, ChannelVolume, Command, CreatePlaybackStreamReply, Descriptor,
    DescriptorFlags, PlaybackStreamParams, Prop, Props, Request, SampleFormat, SampleSpec,
    SetClientNameReply,
    stream::{BufferAttr, StreamFlags},
};
use std::convert::Infallible;
use std::io::{BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::mixer::BLOCK_FRAMES;
use super::source::{RATE, Source};

/// Size of a frame, in bytes: two channels of 16 bits.
const FRAME_BYTES: usize = 4;
/// Buffer between mixer and loudspeaker, and size of the server's requests, in milliseconds. A smaller one causes
/// underruns on a busy machine, a larger one delays the sound of a click.
const LATENCY_MS: u32 = 15;
const PIECE_MS: u32 = 4;
/// Length of the cookie that proves to the server that this is the same user, in bytes.
const COOKIE_BYTES: usize = 256;
/// Timeout of the server's first answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

struct Connection {
    socket: BufReader<UnixStream>,
    version: u16,
}

/// Plays to the server at this socket until the connection breaks; sets `has_played` once the server has accepted a
/// stream.
///
/// # Errors
/// If there is no server, it refuses, or it disappears.
pub(super) fn play(
    server: Option<PathBuf>,
    source: &mut Source,
    has_played: &mut bool,
) -> anyhow::Result<Infallible> {
    let mut connection = Connection::open(&server.context("no server")?).context("no welcome")?;
    let stream = connection.open_stream().context("no stream")?;
    connection.socket.get_ref().set_read_timeout(None)?;
    *has_played = true;
    let mut message = vec![0; protocol::DESCRIPTOR_SIZE + BLOCK_FRAMES * FRAME_BYTES];
    connection.send(source, &stream, stream.requested_bytes, &mut message)?;
    loop {
        match protocol::read_command_message(&mut connection.socket, connection.version)? {
            (_, Command::Request(Request { length, .. })) => {
                connection.send(source, &stream, length, &mut message)?;
            }
            (_, Command::PlaybackStreamKilled(_)) => bail!("the server has ended the stream"),
            (_, Command::Error(error)) => bail!("the server reports {error}"),
            _ => {}
        }
    }
}

impl Connection {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let socket = UnixStream::connect(path).with_context(|| format!("no server at {}", path.display()))?;
        socket.set_read_timeout(Some(ANSWER_WITHIN))?;
        let mut socket = BufReader::new(socket);
        let cookie = pulseaudio::cookie_path_from_env().and_then(|path| std::fs::read(path).ok());
        // The cookie field is required even by servers that do not check it.
        let mut cookie = cookie.unwrap_or_default();
        cookie.resize(COOKIE_BYTES, 0);
        let auth =
            AuthParams { version: protocol::MAX_VERSION, supports_shm: false, supports_memfd: false, cookie };
        protocol::write_command_message(socket.get_mut(), 0, &Command::Auth(auth), protocol::MAX_VERSION)?;
        let (_, reply) = protocol::read_reply_message::<AuthReply>(&mut socket, protocol::MAX_VERSION)?;
        let version = reply.version.min(protocol::MAX_VERSION);
        let mut props = Props::new();
        props.set(Prop::ApplicationName, c"Mini RTS Arena");
        protocol::write_command_message(socket.get_mut(), 1, &Command::SetClientName(props), version)?;
        protocol::read_reply_message::<SetClientNameReply>(&mut socket, version)?;
        Ok(Self { socket, version })
    }

    fn open_stream(&mut self) -> anyhow::Result<CreatePlaybackStreamReply> {
        let bytes = |ms: u32| RATE / 1000 * ms * FRAME_BYTES as u32;
        let mut props = Props::new();
        props.set(Prop::MediaName, c"match");
        props.set(Prop::MediaRole, c"game");
        let params = PlaybackStreamParams {
            sample_spec: SampleSpec {
                format: if cfg!(target_endian = "big") { SampleFormat::S16Be } else { SampleFormat::S16Le },
                channels: 2,
                sample_rate: RATE,
            },
            channel_map: ChannelMap::stereo(),
            cvolume: Some(ChannelVolume::norm(2)),
            sink_name: Some(protocol::DEFAULT_SINK.to_owned()),
            buffer_attr: BufferAttr {
                max_length: u32::MAX,
                target_length: bytes(LATENCY_MS),
                // Playback begins immediately, and an underrun does not stop it.
                pre_buffering: 0,
                minimum_request_length: bytes(PIECE_MS),
                ..BufferAttr::default()
            },
            flags: StreamFlags { adjust_latency: true, ..StreamFlags::default() },
            props,
            ..PlaybackStreamParams::default()
        };
        let command = Command::CreatePlaybackStream(params);
        protocol::write_command_message(self.socket.get_mut(), 2, &command, self.version)?;
        let (_, reply) = protocol::read_reply_message(&mut self.socket, self.version)?;
        Ok(reply)
    }

    /// Sends `bytes` bytes of the mix, each block in one write; `message` has room for the largest.
    fn send(
        &mut self,
        source: &mut Source,
        stream: &CreatePlaybackStreamReply,
        bytes: u32,
        message: &mut [u8],
    ) -> std::io::Result<()> {
        let mut left = bytes as usize / FRAME_BYTES;
        while left > 0 {
            let mut frames = [[0; 2]; BLOCK_FRAMES];
            let frames = &mut frames[..left.min(BLOCK_FRAMES)];
            source.fill(frames);
            let samples: &[u8] = bytemuck::cast_slice(frames);
            let descriptor = Descriptor {
                length: samples.len() as u32,
                channel: stream.channel,
                offset: 0,
                flags: DescriptorFlags::empty(),
            };
            let (head, body) = message.split_first_chunk_mut().expect("room for a descriptor");
            protocol::encode_descriptor(head, &descriptor);
            body[..samples.len()].copy_from_slice(samples);
            self.socket.get_mut().write_all(&message[..protocol::DESCRIPTOR_SIZE + samples.len()])?;
            left -= frames.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
