//! Machine-code kernels, assembled at run time.
