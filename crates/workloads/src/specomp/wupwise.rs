//! Lattice fermions: the Wilson operator inverted by stabilised biconjugate gradients.

use num_complex::Complex64;

use super::DRAW;
use super::field::ring;
use crate::parallel::{Array, Reduction, Share, Team, alone, cost, element};
use crate::parameter::program;
use crate::program::{Program, RegionPlan, Shape, Wrong};
use crate::random::Random;
use crate::thread::Thread;

program! {
    /// Quarks in a gauge field on a lattice of four dimensions: Wilson's operator, which multiplies the spinors of eight
    /// neighbours by matrices of SU(3), and BiCGStab to invert it (van der Vorst 1992), as in wupwise of SpecOMP2001. Loops
    /// over rows of sites are shared in one piece by slices in time; all that is communicated is spinors and links next to a
    /// slice's ends. Most misses are local, however many threads there are (FLASH dissertation, section 3.2.2 and Figure 3.5),
    /// and chapter 6 finds no fault to repair.
    ///
    /// The lattice holds 28 MB: seven times what 63 caches of 64 kB hold. That of 1443 MB (Table 3.2) is eleven times what as many
    /// of 2 MB hold.
    Wupwise is "wupwise": "lattice fermions: matrices of SU(3) times spinors of neighbours, almost all local" {
        /// Sites along each of the three dimensions of space.
        sites: 4, 1 to 64;
        /// Sites along time, the dimension that is shared.
        time: 252, 1 to 4096;
        /// Iterations, unless the residual has vanished before.
        iterations: 2, 1 to 1000;
        /// Iterations of these that come before what is measured; the last is measured in any case.
        unmeasured: 0, 0 to 10_000;
    }
}

/// How much neighbours count (the hopping parameter): far from 1/8, where light quarks make the operator singular.
const HOPPING: f64 = 0.11;
/// How far links are from unity before they are made unitary.
const DISORDER: f64 = 1.0;
/// Below this fraction of the source's square, the residual's is nothing but rounding, and iterations end.
const VANISHED: f64 = 1e-26;
/// How far rounding may take spinors, of the size of the source, when sums are added in another order.
const ROUNDING: f64 = 1e-9;

/// Instructions of a neighbour's part beside its loads: projection 12, two products of matrix and vector of 36 multiply-adds,
/// 24 additions, addresses.
const HOP: u32 = 118;
/// Instructions of a spinor's complex product with another, or of a complex multiple added: 48 and addresses.
const MULTIPLE: u32 = 54;
/// Instructions to make a matrix unitary: three products, two roots and six divisions.
const UNITARY: u32 = 100 + 2 * cost::SQUARE_ROOT + 6 * cost::DIVISION;

/// Directions: three of space and time.
const DIRECTIONS: usize = 4;
type Colours = [Complex64; 3];
/// Four spins, the upper two and the lower two.
type Spinor = [Colours; 4];
type Half = [Colours; 2];
type Link = [Colours; 3];
/// Words of them.
const SPINOR: usize = 24;
const LINK: usize = 18;

/// The regions: links of each site, vectors of spinors, parts of sums, the team's.
const LINKS: usize = 0;
const X: usize = 1;
const R: usize = 2;
const SHADOW: usize = 3;
const P: usize = 4;
const V: usize = 5;
const T: usize = 6;
const SUMS: usize = 7;
const TEAM: usize = 8;

const NOTHING: Spinor = [[Complex64::ZERO; 3]; 4];
const I: Complex64 = Complex64::new(0.0, 1.0);
const ONE: Complex64 = Complex64::new(1.0, 0.0);

/// The upper right quarter of the Dirac matrices in the chiral basis, whose other quarters are its adjoint and zero: of each
/// row the only element's column, and its value.
fn dirac(direction: usize) -> [(usize, Complex64); 2] {
    [[(1, I), (0, I)], [(1, ONE), (0, -ONE)], [(0, I), (1, -I)], [(0, ONE), (1, ONE)]][direction]
}

/// The upper half of (1 + `sign` gamma) times a spinor.
fn project(direction: usize, sign: f64, spinor: &Spinor) -> Half {
    let row = |spin: usize| {
        let (other, phase) = dirac(direction)[spin];
        std::array::from_fn(|colour| spinor[spin][colour] + phase * sign * spinor[2 + other][colour])
    };
    [row(0), row(1)]
}

/// Adds `factor` times what has the upper half `half` after projection: the lower half follows from it.
fn add_whole(direction: usize, sign: f64, half: &Half, factor: f64, to: &mut Spinor) {
    for (spin, colours) in half.iter().enumerate() {
        let (other, phase) = dirac(direction)[spin];
        for (colour, &value) in colours.iter().enumerate() {
            to[spin][colour] += factor * value;
            to[2 + other][colour] += factor * sign * phase.conj() * value;
        }
    }
}

fn times(link: &Link, half: &Half) -> Half {
    half.map(|colours| std::array::from_fn(|row| (0..3).map(|column| link[row][column] * colours[column]).sum()))
}

fn adjoint_times(link: &Link, half: &Half) -> Half {
    half.map(|colours| std::array::from_fn(|row| (0..3).map(|each| link[each][row].conj() * colours[each]).sum()))
}

fn spinor(words: [f64; SPINOR]) -> Spinor {
    std::array::from_fn(|spin| std::array::from_fn(|colour| complex(&words, 3 * spin + colour)))
}

fn link(words: [f64; LINK]) -> Link {
    std::array::from_fn(|row| std::array::from_fn(|column| complex(&words, 3 * row + column)))
}

fn complex(words: &[f64], number: usize) -> Complex64 {
    Complex64::new(words[2 * number], words[2 * number + 1])
}

/// The words of spinors and links.
fn words<const N: usize>(rows: &[Colours]) -> [f64; N] {
    let number = |word: usize| rows[word / 6][word / 2 % 3];
    std::array::from_fn(|word| if word % 2 == 0 { number(word).re } else { number(word).im })
}

/// The product of two spinors, the first conjugate.
fn product(one: &Spinor, other: &Spinor) -> Complex64 {
    one.iter().flatten().zip(other.iter().flatten()).map(|(one, other)| one.conj() * other).sum()
}

/// A spinor and a multiple of another.
fn plus(one: &Spinor, factor: Complex64, other: &Spinor) -> Spinor {
    std::array::from_fn(|spin| std::array::from_fn(|each| one[spin][each] + factor * other[spin][each]))
}

/// The field around a site.
trait Around {
    fn link(&mut self, site: usize, direction: usize) -> Link;
    fn spinor(&mut self, site: usize) -> Spinor;
    /// A neighbour's part is done.
    fn hopped(&mut self) {}
}

/// Sites of a periodic lattice, time slowest.
#[derive(Clone, Copy)]
struct Lattice {
    sites: usize,
    time: usize,
}

impl Lattice {
    /// Rows along the fastest dimension.
    fn rows(self) -> usize {
        self.time * self.sites * self.sites
    }

    fn count(self) -> usize {
        self.rows() * self.sites
    }

    /// The site before a site in a direction, and the one after it.
    fn neighbours(self, site: usize, direction: usize) -> [usize; 2] {
        let apart = self.sites.pow(direction as u32);
        let count = if direction + 1 == DIRECTIONS { self.time } else { self.sites };
        let at = site / apart % count;
        let [before, _, after] = ring(at, count);
        [before, after].map(|other| site - at * apart + other * apart)
    }

    /// Wilson's operator at a site.
    fn wilson(self, site: usize, around: &mut impl Around) -> Spinor {
        let mut sum = around.spinor(site);
        for direction in 0..DIRECTIONS {
            let [before, after] = self.neighbours(site, direction);
            let (there, ahead) = (around.spinor(after), around.link(site, direction));
            add_whole(direction, -1.0, &times(&ahead, &project(direction, -1.0, &there)), -HOPPING, &mut sum);
            around.hopped();
            let (there, behind) = (around.spinor(before), around.link(before, direction));
            add_whole(direction, 1.0, &adjoint_times(&behind, &project(direction, 1.0, &there)), -HOPPING, &mut sum);
            around.hopped();
        }
        sum
    }
}

/// Links of a site at random, each unitary and of determinant 1, and the source there.
fn begin(seed: u64, site: usize) -> ([Link; DIRECTIONS], Spinor) {
    let mut random = Random::new(seed, site as u64);
    let mut draw = || Complex64::new(random.unit() - 0.5, random.unit() - 0.5);
    let links = std::array::from_fn(|_| {
        let mut row = |unity: usize| {
            let mut row: Colours = std::array::from_fn(|_| DISORDER * draw());
            row[unity] += ONE;
            row
        };
        unitary(row(0), row(1))
    });
    (links, std::array::from_fn(|_| std::array::from_fn(|_| draw())))
}

/// The matrix of SU(3) whose first row is along `first` and whose second is in the plane of both.
fn unitary(first: Colours, second: Colours) -> Link {
    let normal = |row: Colours| {
        let size = row.iter().map(|each| each.norm_sqr()).sum::<f64>().sqrt();
        row.map(|each| each / size)
    };
    let a = normal(first);
    let along: Complex64 = a.iter().zip(&second).map(|(a, b)| a.conj() * b).sum();
    let b = normal(std::array::from_fn(|each| second[each] - along * a[each]));
    let crossed = |one: usize, other: usize| (a[one] * b[other] - a[other] * b[one]).conj();
    [a, b, [crossed(1, 2), crossed(2, 0), crossed(0, 1)]]
}

/// A vector that is multiplied, in shared memory.
struct Shared<'t, 'r, H: Thread> {
    thread: &'t mut H,
    links: Array<'r, H::Region, [f64; LINK]>,
    vector: Array<'r, H::Region, [f64; SPINOR]>,
}

impl<H: Thread> Around for Shared<'_, '_, H> {
    fn link(&mut self, site: usize, direction: usize) -> Link {
        link(self.links.load(self.thread, site * DIRECTIONS + direction))
    }

    fn spinor(&mut self, site: usize) -> Spinor {
        spinor(self.vector.load(self.thread, site))
    }

    fn hopped(&mut self) {
        self.thread.instructions(HOP);
    }
}

/// One thread's part in the iterations.
struct Body<'r, R> {
    lattice: Lattice,
    regions: &'r [R],
    team: Team<'r, R>,
    sums: Reduction<'r, R>,
}

impl<'r, R> Body<'r, R> {
    fn load<H: Thread<Region = R>>(&self, thread: &mut H, name: usize, site: usize) -> Spinor {
        spinor(Array::<_, [f64; SPINOR]>::new(&self.regions[name]).load(thread, site))
    }

    fn store<H: Thread<Region = R>>(&self, thread: &mut H, name: usize, site: usize, spinor: &Spinor) {
        Array::<_, [f64; SPINOR]>::new(&self.regions[name]).store(thread, site, words(spinor));
    }

    /// Its sites: rows that follow each other.
    fn own(lattice: Lattice, share: Share) -> std::ops::Range<usize> {
        let rows = share.block(lattice.rows());
        rows.start * lattice.sites..rows.end * lattice.sites
    }

    /// Stores links and source, and what iterations begin with. Returns the square of the source.
    fn initialise<H: Thread<Region = R>>(&mut self, thread: &mut H, seed: u64) -> f64 {
        let (lattice, regions) = (self.lattice, self.regions);
        let part = self.team.prepare(thread, |thread, share| {
            let links = Array::<_, [f64; LINK]>::new(&regions[LINKS]);
            let vector = |name: usize| Array::<_, [f64; SPINOR]>::new(&regions[name]);
            let mut square = 0.0;
            for site in Self::own(lattice, share) {
                let (of_site, source) = begin(seed, site);
                for (direction, link) in of_site.iter().enumerate() {
                    thread.instructions(2 * 6 * DRAW + UNITARY);
                    links.store(thread, site * DIRECTIONS + direction, words(link));
                }
                thread.instructions(SPINOR as u32 * DRAW + MULTIPLE);
                for (name, value) in
                    [(R, source), (SHADOW, source), (X, NOTHING), (P, NOTHING), (V, NOTHING), (T, NOTHING)]
                {
                    vector(name).store(thread, site, words(&value));
                }
                square += product(&source, &source).re;
            }
            square
        });
        self.sums.sum(thread, part)
    }

    /// A section: `body` at each own site, and the sums of what it returns.
    fn section<H: Thread<Region = R>, const N: usize>(
        &mut self,
        thread: &mut H,
        mut body: impl FnMut(&Self, &mut H, usize) -> [Complex64; N],
    ) -> [Complex64; N] {
        let own = Self::own(self.lattice, self.team.share());
        self.team.fork(thread);
        let mut sums = [Complex64::ZERO; N];
        for site in own {
            let parts = body(self, thread, site);
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
        }
        let sums = sums.map(|part| self.sums.combine(thread, part, |one, other| one + other));
        self.team.join(thread);
        sums
    }

    /// The operator applied to `from` at a site.
    fn wilson<H: Thread<Region = R>>(&self, thread: &mut H, from: usize, site: usize) -> Spinor {
        let (links, vector) = (Array::new(&self.regions[LINKS]), Array::new(&self.regions[from]));
        self.lattice.wilson(site, &mut Shared { thread, links, vector })
    }

    /// Stabilised biconjugate gradients from nothing.
    fn solve<H: Thread<Region = R>>(&mut self, thread: &mut H, program: &Wupwise, source: f64) {
        let (mut rho, mut damp) = (Complex64::from(source), ONE);
        let (mut ratio, mut left) = (Complex64::ZERO, source);
        for iteration in 0..program.iterations {
            if left <= VANISHED * source {
                break;
            }
            self.team.begin_round(iteration, program.iterations, program.unmeasured);
            self.section(thread, |body, thread, site| {
                let [r, p, v] = [R, P, V].map(|name| body.load(thread, name, site));
                body.store(thread, P, site, &plus(&r, ratio, &plus(&p, -damp, &v)));
                thread.instructions(2 * MULTIPLE);
                []
            });
            let [along] = self.section(thread, |body, thread, site| {
                let v = body.wilson(thread, P, site);
                body.store(thread, V, site, &v);
                thread.instructions(MULTIPLE);
                [product(&body.load(thread, SHADOW, site), &v)]
            });
            let step = rho / along;
            self.section(thread, |body, thread, site| {
                let [r, v] = [R, V].map(|name| body.load(thread, name, site));
                body.store(thread, R, site, &plus(&r, -step, &v));
                thread.instructions(MULTIPLE);
                []
            });
            let [crossed, square] = self.section(thread, |body, thread, site| {
                let t = body.wilson(thread, R, site);
                body.store(thread, T, site, &t);
                thread.instructions(2 * MULTIPLE);
                [product(&t, &body.load(thread, R, site)), product(&t, &t)]
            });
            damp = crossed / square;
            let [next, rest] = self.section(thread, |body, thread, site| {
                let [x, p, s, t] = [X, P, R, T].map(|name| body.load(thread, name, site));
                body.store(thread, X, site, &plus(&plus(&x, step, &p), damp, &s));
                let r = plus(&s, -damp, &t);
                body.store(thread, R, site, &r);
                thread.instructions(5 * MULTIPLE);
                [product(&body.load(thread, SHADOW, site), &r), product(&r, &r)]
            });
            ratio = next / rho * (step / damp);
            (rho, left) = (next, rest.re);
        }
    }
}

impl Wupwise {
    fn lattice(&self) -> Lattice {
        Lattice { sites: self.sites as usize, time: self.time as usize }
    }
}

impl Program for Wupwise {
    const REGIONS: &'static [&'static str] =
        &["links", "x", "r", "shadow residual", "p", "v", "t", "partial sums", "fork"];

    fn regions(&self, shape: &Shape) -> Vec<RegionPlan> {
        let count = self.lattice().count();
        let links = RegionPlan::unplaced(shape, count * DIRECTIONS * LINK);
        let vectors = std::iter::repeat_n(RegionPlan::unplaced(shape, count * SPINOR), T - LINKS);
        std::iter::once(links).chain(vectors).chain([Reduction::<()>::plan(shape), Team::<()>::plan(shape)]).collect()
    }

    fn run<H: Thread>(&self, shape: &Shape, regions: &[H::Region], thread: &mut H) -> u64 {
        let team = Team::new(shape, &regions[TEAM], thread.number());
        let sums = Reduction::new(shape, &regions[SUMS]);
        let mut body = Body { lattice: self.lattice(), regions, team, sums };
        let source = body.initialise(thread, shape.seed);
        body.solve(thread, self, source);
        0
    }

    /// Links are as they were; the residual that the program holds is that of its solution, which is a run's on one thread.
    fn check(&self, shape: &Shape, read: &dyn Fn(usize, usize) -> u64) -> Result<(), Wrong> {
        let lattice = self.lattice();
        let (_, serial) = alone(self, shape);
        for (word, &expected) in serial[LINKS].iter().enumerate() {
            Wrong::unless_equal(read(LINKS, word), expected, || format!("word {word} of the links"))?;
        }
        let mut left = Left { read };
        let (mut before, mut after) = (0.0, 0.0);
        for site in 0..lattice.count() {
            let (_, source) = begin(shape.seed, site);
            let image = lattice.wilson(site, &mut left);
            let found: Spinor = spinor(element(|word| read(R, word), site));
            let x: [f64; SPINOR] = element(|word| read(X, word), site);
            let of_serial: [f64; SPINOR] = element(|word| serial[X][word], site);
            let rest = plus(&source, -ONE, &image);
            for word in 0..SPINOR {
                let [found, rest] = [&found, &rest].map(|spinor| words::<SPINOR>(spinor)[word]);
                Wrong::unless_close(found, rest, ROUNDING, || format!("residual {word} of site {site}"))?;
                Wrong::unless_close(x[word], of_serial[word], ROUNDING, || format!("part {word} of site {site}"))?;
            }
            before += product(&source, &source).re;
            after += product(&rest, &rest).re;
        }
        Wrong::unless_close(after, 0.0, before / 4.0, || "the square of the residual".to_owned())
    }
}

/// The solution that a run left behind.
struct Left<'m> {
    read: &'m dyn Fn(usize, usize) -> u64,
}

impl Around for Left<'_> {
    fn link(&mut self, site: usize, direction: usize) -> Link {
        link(element(|word| (self.read)(LINKS, word), site * DIRECTIONS + direction))
    }

    fn spinor(&mut self, site: usize) -> Spinor {
        spinor(element(|word| (self.read)(X, word), site))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links and a vector of spinors at random.
    struct Given {
        fields: Vec<([Link; DIRECTIONS], Spinor)>,
        links: Vec<[Link; DIRECTIONS]>,
    }

    impl Around for Given {
        fn link(&mut self, site: usize, direction: usize) -> Link {
            self.links[site][direction]
        }

        fn spinor(&mut self, site: usize) -> Spinor {
            self.fields[site].1
        }
    }

    #[test]
    fn links_are_unitary_and_of_determinant_one() {
        let (links, _) = begin(5, 3);
        for link in links {
            for (one, other) in (0..9).map(|pair| (pair / 3, pair % 3)) {
                let product: Complex64 = (0..3).map(|each| link[one][each] * link[other][each].conj()).sum();
                assert!((product - f64::from(u8::from(one == other))).norm() < 1e-14);
            }
            let minor = |a: usize, b: usize| link[1][a] * link[2][b] - link[1][b] * link[2][a];
            let determinant = link[0][0] * minor(1, 2) - link[0][1] * minor(0, 2) + link[0][2] * minor(0, 1);
            assert!((determinant - ONE).norm() < 1e-14);
        }
    }

    /// Multiplied by the fifth Dirac matrix, which changes the sign of the lower half, Wilson's operator is its own adjoint.
    #[test]
    fn the_operator_is_hermitian_but_for_the_sign_of_the_lower_half() {
        let lattice = Lattice { sites: 3, time: 5 };
        let field = |seed: u64| (0..lattice.count()).map(|site| begin(seed, site)).collect::<Vec<_>>();
        let links: Vec<_> = field(1).into_iter().map(|(links, _)| links).collect();
        let [mut one, mut other] = [2, 3].map(|seed| Given { fields: field(seed), links: links.clone() });
        let fifth = |[a, b, c, d]: Spinor| [a, b, c.map(|each| -each), d.map(|each| -each)];
        let between = |left: &Given, right: &mut Given| -> Complex64 {
            let sites = 0..lattice.count();
            sites.map(|site| product(&left.fields[site].1, &fifth(lattice.wilson(site, right)))).sum()
        };
        let forth = between(&one, &mut other);
        let back = between(&other, &mut one);
        assert!((forth - back.conj()).norm() < 1e-10 && forth.norm() > 1e-3, "{forth} {back}");
    }
}
