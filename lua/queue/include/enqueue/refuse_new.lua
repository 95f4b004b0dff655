-- refuse_new(ctx, ids, envelopes, stamps): for a draining queue: return the error if the call would create a task. An
-- item with the answer `unknown` creates none.
local function refuse_new(ctx, ids, envelopes, stamps)
  local seen = {}
  ctx.there, ctx.gathers = {}, {}
  for i, id in ipairs(ids) do
    local own, stamp = envelopes[i], stamps[i]
    seen[id] = seen[id] or known_as(id, stamp)
    if not seen[id] and not find_duplicate(ctx, own, stamp)
      and not ((own.after or own.needs_parent) and find_obstacle(ctx, own, stamp)) then
      return redis.error_reply('ADEQ_DRAINING this queue is being drained and takes no new tasks: resume it, or use another')
    end
  end
end
