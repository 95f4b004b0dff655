-- held_back(conf, id, record, score, tied, tally): whether a limit does not let a task start now: then it waits in its line, or is
-- dead or cancelled, as the limit's policy says. Else the limits that it is to hold. conf.met counts all limits.
local function held_back(conf, id, record, score, tied, tally)
  local user, tags, words = '', '', ''
  for f = 1, #record, 2 do
    local name = record[f]
    if name == 'user' then user = record[f + 1]
    elseif name == 'tags' then tags = record[f + 1]
    elseif name == 'limits' then words = record[f + 1]
    end
  end
  local limited = limits_of(conf, user, tags, words)
  conf.met = conf.met + #limited
  local full, look_ms = find_full(conf, limited)
  -- A task that would end for others that run, while these may have been lost: a line is mended in time, but these have none.
  -- at most 26: each limit of a task once
  while full and full.policy ~= 'queue' and full.policy ~= 'cancel_oldest' and full.most and full.held >= full.most
    and not full.mended do
    mend_holders(conf, full.key)
    full.mended, full.held = true, nil
    full, look_ms = find_full(conf, limited)
  end
  if not full then return false, limited end
  if full.policy == 'reject' then
    redis.call('HSET', task .. id, 'reason', 'limited')
    bury_task(conf, 'task.dead', id, 'limited', tied, tally)
  elseif full.policy == 'cancel_newest' then
    cancel_task(conf, id, tied, tally)
  else
    if full.policy == 'cancel_oldest' and full.held >= full.most then make_way(conf, full) end
    join_limit(conf, id, score, full, look_ms, tied)
    emit(conf, 'task.limited', id, 'limit=' .. full.key)
    if look_ms < BAND then conf.timed[conf.lane] = true end
  end
  for _, other in ipairs(limited) do  -- where it may have been let go, and another may start instead
    if other ~= full then conf.spared[#conf.spared + 1] = other.key end
  end
  return true
end
