-- apply_limits(ctx, id, record, score, tied): check the limits of a task at its claim. If one is full, put the task
-- into its queue, or end it, by the policy, and return true. Otherwise return false and the limits that the task will
-- hold. ctx.met counts all limits.
local function apply_limits(ctx, id, record, score, tied)
  local user, tags, words = '', '', ''
  for f = 1, #record, 2 do
    local name = record[f]
    if name == 'user' then user = record[f + 1]
    elseif name == 'tags' then tags = record[f + 1]
    elseif name == 'limits' then words = record[f + 1]
    end
  end
  local limited = limits_of(ctx, user, tags, words)
  ctx.met = ctx.met + #limited
  local full, recheck_at_ms = find_full(ctx, limited)
  if full and full.policy ~= 'queue' then write_limits(ctx) end  -- what follows reads it
  -- A task that would end for others that run, while these may have been lost: a line is mended in time, but these have none.
  -- at most 26: each limit of a task once
  while full and full.policy ~= 'queue' and full.policy ~= 'cancel_oldest' and full.most and full.held >= full.most
    and not full.mended do
    mend_holders(ctx, full.key)
    full.mended, full.held = true, nil
    full, recheck_at_ms = find_full(ctx, limited)
  end
  if not full then return false, limited end
  if full.policy == 'reject' then
    redis.call('HSET', task .. id, 'reason', 'limited')
    move_to_dead(ctx, 'task.dead', id, 'limited', tied)
  elseif full.policy == 'cancel_newest' then
    cancel_task(ctx, id, tied)
  else
    if full.policy == 'cancel_oldest' and full.held >= full.most then preempt_oldest(ctx, full) end
    join_limit(ctx, id, score, full, recheck_at_ms, tied)
  end
  spare_others(ctx, limited, full)
  return true
end
