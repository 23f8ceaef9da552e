; expect: violated
; x is 0110: its two halves swapped are 1001; and with 1100 that is 1000, shifted down with its sign 1110.
(set-logic HORN)
(declare-fun p ((_ BitVec 4)) Bool)
(assert (p #b0110))
(assert (forall ((x (_ BitVec 4)))
  (=> (and (p x) (= (bvashr (bvand (concat ((_ extract 1 0) x) ((_ extract 3 2) x)) #b1100) #x2) #b1110)) false)))
