; expect: violated
; The same with steps of 3: 3 is odd, so all 16 numbers are reached, 7 after 13 steps (3 * 13 = 39 = 7 modulo 16).
(set-logic HORN)
(declare-fun inv ((_ BitVec 4)) Bool)
(assert (inv #x0))
(assert (forall ((x (_ BitVec 4)) (y (_ BitVec 4))) (=> (and (inv x) (= y (bvadd x #x3))) (inv y))))
(assert (forall ((x (_ BitVec 4))) (=> (and (inv x) (= x #x7)) false)))
(check-sat)
