//! The memory of homes: accesses to it, and messages that leave when it has been read.

use protocol::server::{HomeWork, Leaves, Message};
use units::{LineAddr, NodeId, Time};

use super::Servers;
use super::event::{MemoryChannel, ServerEvent};
use super::homes::{Active, Read, Waiting};
use crate::kernel::EnvelopeId;
use crate::part::Wake;
use crate::system::System;

impl System<Servers> {
    /// The accesses to memory for a message, which was looked up from `start` to `out`.
    pub(super) fn use_memory(
        &mut self,
        active: &mut Active,
        message: &Message,
        work: &HomeWork,
        (start, out): (Time, Time),
    ) {
        if !(work.memory_read || work.memory_write || work.bits_write) {
            return;
        }
        let (line, now) = (active.line, self.kernel.now);
        let Servers { places, homes, fabric, early_read, .. } = &mut self.controllers;
        let (place, memory) = (places.home_place(line), places.memory_place(line));
        let way = fabric.way_time(place.stop, memory.stop);
        let (index, number) = places.memory(line);
        let foreign =
            message.cluster().is_some_and(|cluster| places.caching_agent(cluster, line).socket != place.socket);
        let home = places.home(line);
        let controller = homes.controller(home, index);
        let mut wakes = [None; 2];
        if work.memory_read {
            let asked = if *early_read && foreign { start } else { out };
            let read = controller.next_read;
            controller.next_read = read.wrapping_add(1);
            active.read = Read::Waits(read);
            wakes[0] = controller.memory.read(number, read, asked + way, now);
        }
        if work.memory_write || work.bits_write {
            wakes[1] = controller.memory.write(number, out + way, now);
        }
        for wake in wakes.into_iter().flatten() {
            self.wake(home, index, wake);
        }
    }

    fn wake(&mut self, home: NodeId, controller: usize, Wake { channel, at }: Wake) {
        let channel = MemoryChannel { controller: controller as u16, channel: channel as u16 };
        self.schedule(home, at, ServerEvent::Memory(home, channel));
    }

    /// A channel of memory serves requests: messages that waited for them can leave.
    pub(super) fn on_memory(&mut self, home: NodeId, MemoryChannel { controller, channel }: MemoryChannel) {
        let (index, now) = (usize::from(controller), self.kernel.now);
        let mut served = std::mem::take(&mut self.controllers.served);
        let state = self.controllers.homes.controller(home, index);
        if let Some(wake) = state.memory.serve(channel.into(), now, &mut served) {
            self.wake(home, index, wake);
        }
        for (read, at) in served.drain(..) {
            let state = self.controllers.homes.controller(home, index);
            if let Some(active) = state.active.work_mut().find(|active| active.read == Read::Waits(read)) {
                active.read = Read::At(at);
            }
            let mut held = std::mem::take(&mut state.held);
            for waiting in held.extract_if(.., |waiting| waiting.read == read) {
                self.leave_at(waiting.message, waiting.out, at);
            }
            self.controllers.homes.controller(home, index).held = held;
        }
        self.controllers.served = served;
    }

    /// Sends what the home of a line has sent in the present step: at `out`, or when `read` has been served.
    pub(super) fn send_from_home(&mut self, line: LineAddr, out: Time, read: Read) {
        let mut sent = std::mem::take(&mut self.controllers.sent);
        for (message, leaves) in sent.drain(..) {
            let message = self.spoiled(message);
            self.count_agent_message(&message);
            let places = &self.controllers.places;
            match (leaves, read) {
                (Leaves::AtOnce, _) => {
                    let home = places.home_place(line);
                    self.transmit(message, home, out);
                }
                (Leaves::AfterMemory, Read::None) => self.leave_at(message, out, Time::ZERO),
                (Leaves::AfterMemory, Read::At(at)) => self.leave_at(message, out, at),
                (Leaves::AfterMemory, Read::Waits(read)) => {
                    let (home, index) = (places.home(line), places.memory(line).0);
                    self.controllers.homes.controller(home, index).held.push(Waiting { read, message, out });
                }
            }
        }
        self.controllers.sent = sent;
    }

    /// A message leaves at `out`, or when memory has been read, at `read_at`. The data of memory leave its controller, all else the
    /// home.
    fn leave_at(&mut self, message: Message, out: Time, read_at: Time) {
        let Servers { places, fabric, timing, .. } = &self.controllers;
        let line = message.line;
        let read = if message.kind.carries_data() {
            read_at
        } else {
            let (home, memory) = (places.home_place(line), places.memory_place(line));
            read_at + fabric.way_time(memory.stop, home.stop) + timing.home_response
        };
        // It takes wires and links in the order of time.
        let (node, id) = (places.home(line), self.envelop(message, NodeId(0)));
        self.schedule(node, out.max(read), ServerEvent::Leave(id));
    }

    /// A message that has waited for memory leaves: the data of memory leave its controller, all else the home.
    pub(super) fn on_leave(&mut self, id: EnvelopeId) {
        let message = self.kernel.envelopes.remove(id).message;
        let (places, now) = (&self.controllers.places, self.kernel.now);
        let data = message.kind.carries_data();
        let from = if data { places.memory_place(message.line) } else { places.home_place(message.line) };
        self.transmit(message, from, now);
        self.handle_all();
    }
}
