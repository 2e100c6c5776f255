! A relaxation and what else of OpenMP Fortran programs use; stops with an error if anything is wrong.
module shared_state
  implicit none
  integer, parameter :: n = 96
  real(8) :: old(0:n+1, 0:n+1), new(0:n+1, 0:n+1)
  integer :: mine = -1
  !$omp threadprivate(mine)
end module

subroutine expect(what, found, expected, wrong)
  implicit none
  character(*), intent(in) :: what
  integer, intent(in) :: found, expected
  logical, intent(inout) :: wrong
  if (found /= expected) then
    print '(a,a,i0,a,i0)', what, ': ', found, ', not ', expected
    wrong = .true.
  end if
end subroutine

recursive subroutine count_nodes(depth, nodes)
  implicit none
  integer, intent(in) :: depth
  integer, intent(inout) :: nodes
  !$omp atomic
  nodes = nodes + 1
  if (depth == 0) return
  !$omp task shared(nodes)
  call count_nodes(depth - 1, nodes)
  !$omp end task
  !$omp task shared(nodes)
  call count_nodes(depth - 1, nodes)
  !$omp end task
  !$omp taskwait
end subroutine

program relaxation
  use omp_lib
  use shared_state
  implicit none
  integer :: i, j, step, threads, singles, nodes, order, kept, locked, nested, named, parts
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  real(8) :: change, serial, total, start
  logical :: wrong, in_order

  wrong = .false.
  threads = omp_get_max_threads()
  start = omp_get_wtime()
  old = 0; new = 0
  old(0, :) = 1; new(0, :) = 1
  do step = 1, 5
    change = 0
    !$omp parallel do private(i) reduction(max: change) schedule(static)
    do j = 1, n
      do i = 1, n
        new(i, j) = 0.25d0 * (old(i-1, j) + old(i+1, j) + old(i, j-1) + old(i, j+1))
        change = max(change, abs(new(i, j) - old(i, j)))
      end do
    end do
    !$omp parallel workshare
    old = new
    !$omp end parallel workshare
  end do
  serial = sum(old)
  total = 0
  !$omp parallel do collapse(2) reduction(+: total) schedule(guided, 5)
  do j = 0, n + 1
    do i = 0, n + 1
      total = total + old(i, j)
    end do
  end do
  if (abs(total - serial) > 1d-9 * serial .or. change <= 0) wrong = .true.

  singles = 0; kept = 0; locked = 0; nested = 0; named = 0; parts = 0; order = 0; nodes = 0
  in_order = .true.
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  !$omp parallel
  mine = omp_get_thread_num()
  !$omp single
  singles = singles + 1
  !$omp end single
  call omp_set_lock(lock)
  locked = locked + 1
  call omp_unset_lock(lock)
  call omp_set_nest_lock(nest)
  call omp_set_nest_lock(nest)
  nested = nested + 1
  call omp_unset_nest_lock(nest)
  call omp_unset_nest_lock(nest)
  !$omp critical (one_by_one)
  named = named + 1
  !$omp end critical (one_by_one)
  !$omp do ordered schedule(dynamic, 2)
  do i = 1, 40
    !$omp ordered
    order = order + 1
    if (order /= i) in_order = .false.
    !$omp end ordered
  end do
  !$omp end do
  !$omp sections
  !$omp section
  !$omp atomic
  parts = parts + 1000
  !$omp section
  !$omp atomic
  parts = parts + 1000
  !$omp end sections
  !$omp atomic
  kept = kept + merge(1, 0, mine == omp_get_thread_num())
  !$omp single
  call count_nodes(6, nodes)
  !$omp end single
  !$omp end parallel
  call expect('single', singles, 1, wrong)
  call expect('locks', locked, threads, wrong)
  call expect('nested locks', nested, threads, wrong)
  call expect('critical regions', named, threads, wrong)
  call expect('sections', parts, 2000, wrong)
  call expect('threadprivate', kept, threads, wrong)
  call expect('tasks', nodes, 127, wrong)
  if (.not. in_order .or. omp_get_wtime() <= start) wrong = .true.
  print '(i0,a,a)', threads, ' threads: ', merge('wrong', 'right', wrong)
  if (wrong) error stop 1
end program
