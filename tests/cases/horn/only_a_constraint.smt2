; expect: violated
; A clause without relations: false follows from x = y for some x and y.
(set-logic HORN)
(assert (forall ((x Bool) (y Bool)) (=> (= x y) false)))
