//! Encoding of SCI in 32-bit words: one per cache line, one for memory, one per packet.

use protocol::sci::{
    CacheLine, CacheState, Command, MemoryLine, MemoryState, Operation, Outstanding, Packet, Protocol, Report, Request,
    Response,
};
use protocol::{Agent, Version};
use units::{CpuId, LineAddr};

use crate::directory::{Codec, HOME, Names, Reader, Writer};

fn put_name(word: &mut Writer, cpu: Option<CpuId>, names: &Names) {
    word.put(3, cpu.map_or(0, |cpu| 1 + names.cache(cpu)));
}

fn take_name(word: &mut Reader) -> Option<CpuId> {
    word.take(3).checked_sub(1).map(|cpu| CpuId(cpu as u16))
}

impl Codec for Protocol {
    type Notes = ();

    fn pack_cache(line: &CacheLine, names: &Names) -> u32 {
        let mut word = Writer::default();
        word.put(5, line.state as u32).put(2, line.version.0);
        put_name(&mut word, line.forward, names);
        put_name(&mut word, line.backward, names);
        if let Some(Outstanding { operation, command }) = line.outstanding {
            word.put(2, 1 + operation as u32).put(4, command as u32);
        }
        word.word()
    }

    fn unpack_cache(word: u32) -> CacheLine {
        let mut word = Reader::new(word);
        CacheLine {
            state: CacheState::ALL[word.take(5) as usize],
            version: Version(word.take(2)),
            forward: take_name(&mut word),
            backward: take_name(&mut word),
            outstanding: word.take(2).checked_sub(1).map(|operation| Outstanding {
                operation: Operation::ALL[operation as usize],
                command: Command::ALL[word.take(4) as usize],
            }),
        }
    }

    fn pack_home(&self, line: &MemoryLine, (): &(), (): (), names: &Names) -> [u32; 2] {
        let mut word = Writer::default();
        word.put(2, line.state as u32).put(2, line.version.0);
        put_name(&mut word, line.head, names);
        [word.word(), 0]
    }

    fn unpack_home(&self, words: [u32; 2], _: LineAddr, (): &mut ()) -> (MemoryLine, ()) {
        let mut word = Reader::new(words[0]);
        let (state, version) = (MemoryState::ALL[word.take(2) as usize], Version(word.take(2)));
        (MemoryLine { state, version, head: take_name(&mut word) }, ())
    }

    fn pack_message(packet: &Packet, names: &Names) -> u32 {
        let mut word = Writer::default();
        let (line, requester, pointer, version) = match packet {
            Packet::Request(request) => {
                let to = match request.to {
                    Agent::Processor(cpu) => Some(cpu),
                    _ => None,
                };
                word.put(1, 0).put(4, request.command as u32);
                put_name(&mut word, to, names);
                (request.line, request.source, request.pointer, request.version)
            }
            Packet::Response(response) => {
                word.put(1, 1).put(7, response.report as u32);
                (response.line, response.to, response.pointer, response.version)
            }
        };
        word.put(1, names.line(line)).put(2, names.cache(requester)).put(2, version.map_or(0, |version| 1 + version.0));
        put_name(&mut word, pointer, names);
        word.word()
    }

    fn unpack_message(word: u32) -> Packet {
        let mut word = Reader::new(word);
        let is_response = word.flag();
        let (kind, to) = if is_response { (word.take(7), None) } else { (word.take(4), take_name(&mut word)) };
        let (line, requester) = (LineAddr(word.take(1).into()), CpuId(word.take(2) as u16));
        let version = word.take(2).checked_sub(1).map(Version);
        let pointer = take_name(&mut word);
        if is_response {
            return Packet::Response(Response {
                line,
                to: requester,
                report: Report::ALL[kind as usize],
                pointer,
                version,
            });
        }
        let to = to.map_or(Agent::Home(HOME), Agent::Processor);
        Packet::Request(Request { line, to, source: requester, command: Command::ALL[kind as usize], pointer, version })
    }
}
