//! Instructions of a block, one by one: what each waits for, and what it leaves in registers and memory.

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind};

use super::super::operation::{Operation, Unit, clears, moves, operation, replaces};
use super::super::place::{Address, FLAGS, FLOAT_UNIT, INTEGER_UNIT, RSP, Root, register};
use super::{Id, READY, Reader, Value};

impl Reader<'_> {
    pub(super) fn instruction(&mut self, step: &Instruction, info: &mut InstructionInfoFactory) {
        match step.mnemonic() {
            Mnemonic::Nop | Mnemonic::Endbr64 => {}
            Mnemonic::Push => self.push(step),
            Mnemonic::Pop => self.pop(step),
            Mnemonic::Lea => self.address_of(step),
            _ if moves(step) => self.copy(step),
            _ if clears(step) => {
                let Some(number) = register(step.op0_register()) else { return };
                self.forget(number);
                self.forget(FLAGS);
            }
            _ => self.compute(step, info),
        }
        self.instructions += 1;
    }

    fn push(&mut self, step: &Instruction) {
        let held = match step.op0_kind() {
            OpKind::Register => register(step.op0_register()).map(|number| self.registers[number as usize]),
            OpKind::Memory => Some(self.load(step)),
            _ => None,
        };
        let value = held.unwrap_or_else(|| Value { id: READY, at: self.fresh() });
        let stack = &mut self.registers[RSP as usize].at;
        stack.offset += i64::from(step.stack_pointer_increment());
        let at = *stack;
        self.store(at, value);
    }

    fn pop(&mut self, step: &Instruction) {
        let at = self.registers[RSP as usize].at;
        let value = self.stored(at);
        self.registers[RSP as usize].at.offset += i64::from(step.stack_pointer_increment());
        if let Some(number) = register(step.op0_register()).filter(|_| step.op0_kind() == OpKind::Register) {
            self.registers[number as usize] = value;
        }
    }

    /// `lea`: an addition, of which it is known where the sum points to.
    fn address_of(&mut self, step: &Instruction) {
        let Some(number) = register(step.op0_register()) else { return };
        let (at, inputs) = (self.address(step), self.bases(step));
        let id = match inputs.is_empty() || step.is_ip_rel_memory_operand() {
            true => READY,
            false => self.step(inputs, self.latencies.of(Operation::Integer), None).id,
        };
        self.registers[number as usize] = Value { id, at };
    }

    /// A move is no operation of its own: what is there is known by another name.
    fn copy(&mut self, step: &Instruction) {
        if [step.op0_kind(), step.op1_kind()].contains(&OpKind::Memory) {
            let at = self.address(step);
            self.kept += u32::from(self.only_keeps(step, at));
        }
        let value = match step.op1_kind() {
            OpKind::Register => register(step.op1_register()).map(|number| self.registers[number as usize]),
            OpKind::Memory => Some(self.load(step)),
            _ => {
                let at = Address { root: Root::Absolute, offset: step.immediate(1) as i64 };
                Some(Value { id: READY, at })
            }
        };
        let Some(value) = value else { return };
        if step.op0_kind() == OpKind::Memory {
            let at = self.address(step);
            self.store(at, value);
        } else if let Some(number) = register(step.op0_register()) {
            self.registers[number as usize] = value;
        }
    }

    /// Any other instruction: it waits for all that it reads, and all that it writes is there at once.
    fn compute(&mut self, step: &Instruction, info: &mut InstructionInfoFactory) {
        let info = info.info(step);
        let memory = (0..step.op_count()).find(|&operand| step.op_kind(operand) == OpKind::Memory);
        let access = memory.map(|operand| info.op_access(operand));
        let explicit = |number: u8| {
            (0..step.op_count()).any(|operand| {
                step.op_kind(operand) == OpKind::Register && register(step.op_register(operand)) == Some(number)
            })
        };
        let names =
            |number: u8| [step.memory_base(), step.memory_index()].into_iter().any(|of| register(of) == Some(number));
        let kept = |number: u8| replaces(step) && register(step.op0_register()) == Some(number) && explicit(number);
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for used in info.used_registers() {
            let Some(number) = register(used.register()) else { continue };
            let (reads, writes) = (reads(used.access()), writes(used.access()));
            let of_address = memory.is_some() && names(number) && !explicit(number);
            let only_replaced = kept(number) && writes && register(step.op1_register()) != Some(number);
            if reads && !of_address && !only_replaced {
                inputs.push(self.registers[number as usize].id);
            }
            if writes && !outputs.contains(&number) {
                outputs.push(number);
            }
        }
        if step.rflags_read() != 0 {
            inputs.push(self.registers[FLAGS as usize].id);
        }
        if step.rflags_modified() != 0 {
            outputs.push(FLAGS);
        }
        if access.is_some_and(reads) {
            inputs.push(self.load(step).id);
        }
        let shifted = shift(step).and_then(|by| {
            let held = self.registers[register(step.op0_register())? as usize].at;
            Some(Address { offset: held.offset.wrapping_add(by), ..held })
        });
        let operation = operation(step);
        let unit = self.latencies.unit(operation).map(|(unit, slots)| match unit {
            Unit::Integer => (Id::from(INTEGER_UNIT), slots),
            Unit::Float => (Id::from(FLOAT_UNIT), slots),
        });
        let value = self.step(inputs, self.latencies.of(operation), unit);
        for number in outputs {
            let at = shifted.filter(|_| number != FLAGS).unwrap_or(value.at);
            self.registers[number as usize] = Value { id: value.id, at };
        }
        if access.is_some_and(writes) {
            let at = self.address(step);
            self.store(at, value);
        }
    }
}

fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// By how much `step` moves what its first operand, a register, points to; none if it does something else.
fn shift(step: &Instruction) -> Option<i64> {
    let number = || matches!(step.op1_kind(), OpKind::Immediate8to64 | OpKind::Immediate32to64);
    let by = match step.mnemonic() {
        Mnemonic::Inc => 1,
        Mnemonic::Dec => -1,
        Mnemonic::Add if number() => step.immediate(1) as i64,
        Mnemonic::Sub if number() => (step.immediate(1) as i64).wrapping_neg(),
        _ => return None,
    };
    (step.op0_kind() == OpKind::Register && step.op0_register().is_gpr64()).then_some(by)
}
