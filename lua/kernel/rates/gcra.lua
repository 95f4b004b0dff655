-- gcra(due, now, slack): one step of the generic cell rate algorithm. due: when all so far would have come at exactly the rate. slack: how
-- far ahead of that the next may come. Returns due, or now if that is later; and how long to wait, which is not above 0 if the next may
-- come now.
local function gcra(due, now, slack)
  if due < now then due = now end
  return due, due - now - slack
end
