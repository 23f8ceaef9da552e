; expect: holds
; As signed numbers of 3 bits, 4 to 7 are negative: what starts at 100 (-4) and grows while it is less than 0 never gets to 001.
(set-logic HORN)
(declare-fun p ((_ BitVec 3)) Bool)
(define-fun next ((x (_ BitVec 3))) (_ BitVec 3) (bvadd x #b001))
(assert (p #b100))
(assert (forall ((x (_ BitVec 3))) (=> (and (p x) (bvslt x #b000)) (p (next x)))))
(assert (=> (p #b001) false))
