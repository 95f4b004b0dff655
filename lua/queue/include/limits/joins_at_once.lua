-- joins_at_once(ctx, id, score): for a claim that has put tasks into limit queues: put the next one into one, too, if its
-- limit is full, without reading all of its record. Whether it did.
local function joins_at_once(ctx, id, score)
  local own = redis.call('HMGET', task .. id, 'created_ms', 'user', 'tags', 'limits', 'ties')
  if not own[1] then return false end
  local limited = limits_of(ctx, own[2] or '', own[3] or '', own[4] or '')
  local full, recheck_at_ms = find_full(ctx, limited)
  if not full or full.policy ~= 'queue' then return false end
  ctx.met = ctx.met + #limited
  join_limit(ctx, id, score, full, recheck_at_ms, own[5])
  spare_others(ctx, limited, full)
  return true
end
