-- promote_freed(ctx): grant what this call has freed to the next waiters. First it ends the waits of owners that have
-- lost a hold that they depend on. The rest is left to the next call.
-- LATE
local function promote_freed(ctx)
  local left, at = ctx.grants or 64, 1
  ctx.tried, ctx.looks = {}, ctx.looks or 1300
  for owner in pairs(ctx.waiting > 0 and ctx.losers or {}) do
    local rid = waits_as(owner)
    local request = rid and live_request(ctx, rid)
    if request and lost_dependency(request) then
      end_request(ctx, rid, request, 'lost', 'lock.cancelled', ' reason=lost')
    end
  end
  -- at most 5,000: 32 for each of 64 grants, and what the call itself has freed
  while ctx.freed and ctx.freed[at] and ctx.waiting > 0 do
    local freed = ctx.freed[at]
    ctx.noted[freed.resource] = nil
    local from = freed.from
    if left > 0 and ctx.looks > 0 then left, from = promote(ctx, freed, left) end
    if from then set_deadline(ctx, 'promote ' .. freed.resource .. string.gsub(from, '^.', ' %0'), ctx.now) end
    at = at + 1
  end
  ctx.freed, ctx.noted, ctx.losers, ctx.grants = nil, nil, nil, left
end
