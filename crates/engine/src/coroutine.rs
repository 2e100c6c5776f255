//! Stackful coroutines on pooled stacks: how a program runs inside simulated time.

use corosensei::CoroutineResult;
use corosensei::stack::DefaultStack;

/// The handle through which a coroutine suspends itself.
pub type Yielder<In, Out> = corosensei::Yielder<In, Out>;

/// Stacks that finished coroutines left, for the next ones: making a stack costs microseconds, reusing one nanoseconds.
#[derive(Default)]
pub struct StackPool {
    free: Vec<DefaultStack>,
}

/// Bytes of stack for a coroutine: enough for deep recursion in a program; untouched pages cost nothing.
const STACK_BYTES: usize = 256 << 10;

impl StackPool {
    fn take(&mut self) -> std::io::Result<DefaultStack> {
        match self.free.pop() {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(STACK_BYTES),
        }
    }
}

/// What a coroutine did when it was resumed.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<Out, Return> {
    /// It suspended itself and waits for the next resume.
    Suspended(Out),
    /// It ran to its end.
    Finished(Return),
}

/// A program that runs in steps: it is resumed with an `In` and suspends with an `Out`, or ends with a `Return`.
pub struct Coroutine<In: 'static, Out: 'static, Return: 'static> {
    inner: corosensei::Coroutine<In, Out, Return, DefaultStack>,
}

impl<In: 'static, Out: 'static, Return: 'static> Coroutine<In, Out, Return> {
    /// A coroutine that will run `body` when first resumed, on a stack from `pool`.
    ///
    /// # Errors
    /// The operating system has no memory for another stack.
    pub fn new<F>(pool: &mut StackPool, body: F) -> std::io::Result<Self>
    where
        F: FnOnce(&Yielder<In, Out>, In) -> Return + 'static,
    {
        Ok(Self { inner: corosensei::Coroutine::with_stack(pool.take()?, body) })
    }

    /// Runs the coroutine up to its next suspension or its end.
    #[inline]
    pub fn resume(&mut self, input: In) -> Step<Out, Return> {
        match self.inner.resume(input) {
            CoroutineResult::Yield(out) => Step::Suspended(out),
            CoroutineResult::Return(value) => Step::Finished(value),
        }
    }

    /// Gives the stack of a finished coroutine back to the pool.
    pub fn recycle(self, pool: &mut StackPool) {
        if self.inner.done() {
            pool.free.push(self.inner.into_stack());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coroutine_passes_values_both_ways_and_returns_its_stack() {
        let mut pool = StackPool::default();
        let mut sum: Coroutine<u32, u32, u32> = Coroutine::new(&mut pool, |yielder, first| {
            let second = yielder.suspend(first * 10);
            first + second
        })
        .unwrap();
        assert_eq!(sum.resume(3), Step::Suspended(30));
        assert_eq!(sum.resume(4), Step::Finished(7));
        sum.recycle(&mut pool);
        assert_eq!(pool.free.len(), 1);
    }
}
