-- hand_on(ctx, own, one, reviewer, chain, via): a pending request goes to another person, whose delegations lead it on from there.
local function hand_on(ctx, own, one, reviewer, chain, via)
  leave_place(own, one)
  local before = { chain = one.chain, via = one.via }
  one.reviewer, one.chain, one.via = reviewer, chain, via
  if ctx.settings.delegations then follow_delegations(ctx, own, one) end
  take_place(ctx, own, one, one.reviewer, one.chain, one.via, before)
end
