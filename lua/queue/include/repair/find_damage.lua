-- find_damage(ids): what is wrong with each of these tasks: `lost` (in no set), `twice` (in several), `lease` (an
-- incomplete lease, or one that a limit does not count), `line` (waits for a limit, but not in its queue), `runs` (an
-- older release has deleted the task, but not what is kept of its runs and steps); false if nothing is. An id without a record is
-- sound, unless a lease or its runs are left of it.
-- EARLY
local function find_damage(ids)
  local scores, found = {}, {}
  local sets = { delayed, blocked, leases, finished, dead }
  for s, set in ipairs(sets) do scores[s] = redis.call('ZMSCORE', set, unpack(ids)) end  -- at most 1,000: items
  local held = redis.call('HMGET', running, unpack(ids))  -- at most 1,000: items
  for i, id in ipairs(ids) do
    local own = redis.call('HMGET', task .. id, 'created_ms', 'lane', 'limited_by')
    local places = redis.call('ZSCORE', ready .. (own[2] or 'any'), id) and 1 or 0
    for s = 1, #sets do places = places + (scores[s][i] and 1 or 0) end
    local leased, by = scores[3][i], own[3]
    if not own[1] then
      found[i] = held[i] and not leased and 'lease' or redis.call('EXISTS', ended_runs .. id, steps .. id) > 0 and 'runs'
    elseif places > 1 then
      found[i] = 'twice'
    elseif not leased ~= not held[i] then
      found[i] = 'lease'
    elseif places == 0 then
      found[i] = 'lost'
    else
      found[i] = by and scores[2][i] and redis.call('ZSCORE', waiting .. by, id) ~= scores[2][i] and 'line'
    end
    for _, key in ipairs(held_limits(not found[i] and held[i])) do
      if not redis.call('ZSCORE', holding .. key, id) then found[i] = 'lease' end
    end
    found[i] = found[i] or false
  end
  return found
end
