; expect: violated
; In SMT-LIB, (div (- 7) 2) is -4 and (mod (- 7) 2) is 1: quotients by positive numbers are rounded down.
(set-logic HORN)
(declare-fun p (Int) Bool)
(assert (p (- 7)))
(assert (forall ((x Int)) (=> (and (p x) (= (div x 2) (- 4)) (= (mod x 2) 1)) false)))
