//! What disturbed a measurement: switches, migrations, stolen time, a changed clock.
