//! Least-squares models of measured memory hierarchies, and the machine descriptions that follow from them.
