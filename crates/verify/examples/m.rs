//! tmp listing of faults
fn main() {
    let name = std::env::args().nth(1).unwrap();
    let p = verify::protocol(&name).unwrap();
    for f in (p.faults)() {
        let c = verify::Config { mutation: Some(f.name), ..f.config.clone() };
        let t = std::time::Instant::now();
        match p.run(&c) { Ok(r) => match r.outcome {
            verify::Outcome::Ok => println!("!!!! {} not found", f.name),
            verify::Outcome::Counterexample(t2) => println!("{} {:30} {:?} (declared {:?}) steps {} {:?}: {}", if t2.violation.property==f.breaks {"ok "} else {"XX "}, f.name, t2.violation.property, f.breaks, t2.steps.len(), t.elapsed(), t2.violation.detail),
        }, Err(e) => println!("{} {e}", f.name) }
    }
}
