/* ccnuma.h: what a program may say to ccNUMA Lab.
 *
 * Under `ccnuma cc`, `ccnuma cxx` and `ccnuma fc` these are functions of the runtime; with any other compiler they are nothing,
 * so that a program may include this file wherever it is built. From Fortran: `call ccnuma_roi_begin()`, between
 * `#ifdef __CCNUMA__` and `#endif` in a file that is preprocessed (.F90).
 */
#ifndef CCNUMA_H
#define CCNUMA_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __CCNUMA__

/* What the calling thread does from here on is measured, until it calls ccnuma_roi_end(): each thread says so for itself. Regions
 * may follow one another; their times add up. A program without any is measured from its first parallel section to the end of its
 * last, those of one thread included, and one that has none is measured whole. */
void ccnuma_roi_begin(void);
void ccnuma_roi_end(void);

/* Every page that has been placed moves to the node whose thread touches it next: for data that one thread has initialised, at the
 * start of the parallel part. Where pages do not move, it does nothing. `ccnuma sim --touch-again` does so for any program. */
void ccnuma_first_touch(void);

#else

static inline void ccnuma_first_touch(void) {}
static inline void ccnuma_roi_begin(void) {}
static inline void ccnuma_roi_end(void) {}

#endif

#ifdef __cplusplus
}
#endif

#endif
