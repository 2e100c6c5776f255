//! Tests of the MSI protocol: sharing sets against plain sets, and transactions of a FLASH of 64 nodes message by
//! message.

mod catalogue;
mod machine;
mod random_walk;
mod sharing_sets;
mod table;
mod transactions;
mod work;
