-- hand_on(ctx, own, one, reviewer, chain, via): a pending request has another reviewer from now on, and these have delegated it.
local function hand_on(ctx, own, one, reviewer, chain, via)
  leave_place(own, one)
  take_place(ctx, own, one, reviewer, chain, via)
end
