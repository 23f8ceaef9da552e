; expect: error E041
(set-logic HORN)
(assert (forall ((x Int)) (=> (= x 1) (p x))))
