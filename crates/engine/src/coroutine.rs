//! Stackful coroutines on pooled stacks: a simulated program runs on one and suspends itself while simulated time
//! passes.

use corosensei::CoroutineResult;
use corosensei::stack::DefaultStack;

/// The handle through which a coroutine suspends itself.
pub type Yielder<In, Out> = corosensei::Yielder<In, Out>;

/// Stacks of finished coroutines, kept for reuse: allocating a stack costs microseconds, reusing one nanoseconds.
#[derive(Default)]
pub struct StackPool {
    free: Vec<DefaultStack>,
}

/// Stack size of a coroutine in bytes: enough for deep recursion in a program; untouched pages cost nothing.
const STACK_BYTES: usize = 256 << 10;

impl StackPool {
    fn take(&mut self) -> std::io::Result<DefaultStack> {
        match self.free.pop() {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(STACK_BYTES),
        }
    }
}

/// Result of one resume.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<Out, Return> {
    /// The coroutine suspended itself and waits for the next resume.
    Suspended(Out),
    /// The coroutine ran to its end.
    Finished(Return),
}

/// A coroutine: each resume passes an `In`, each suspension an `Out`, and the end a `Return`.
pub struct Coroutine<In: 'static, Out: 'static, Return: 'static> {
    inner: corosensei::Coroutine<In, Out, Return, DefaultStack>,
}

impl<In: 'static, Out: 'static, Return: 'static> Coroutine<In, Out, Return> {
    /// Creates a coroutine that runs `body` when first resumed, on a stack from `pool`.
    ///
    /// # Errors
    /// An I/O error if the operating system has no memory for another stack.
    pub fn new<F>(pool: &mut StackPool, body: F) -> std::io::Result<Self>
    where
        F: FnOnce(&Yielder<In, Out>, In) -> Return + 'static,
    {
        Ok(Self { inner: corosensei::Coroutine::with_stack(pool.take()?, body) })
    }

    /// Resumes the coroutine, which runs up to its next suspension or its end.
    #[inline]
    pub fn resume(&mut self, input: In) -> Step<Out, Return> {
        match self.inner.resume(input) {
            CoroutineResult::Yield(out) => Step::Suspended(out),
            CoroutineResult::Return(value) => Step::Finished(value),
        }
    }

    /// Returns the stack of a finished coroutine to the pool.
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
