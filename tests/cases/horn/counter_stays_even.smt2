; expect: holds
; A transition system: x starts at 0 and grows by 2, modulo 16. It is never 7, since it stays even.
(set-logic HORN)
(declare-fun inv ((_ BitVec 4)) Bool)
(assert (inv #x0))
(assert (forall ((x (_ BitVec 4)) (y (_ BitVec 4))) (=> (and (inv x) (= y (bvadd x #x2))) (inv y))))
(assert (forall ((x (_ BitVec 4))) (=> (and (inv x) (= x #x7)) false)))
(check-sat)
