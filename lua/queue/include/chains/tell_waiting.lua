-- tell_waiting(ctx, batch): report to waiting tasks that tasks they wait for have ended: batch.tells, { id, place, how }
-- each. A waiting task continues or ends at once if an end decides, and otherwise when the last one has ended (it may wait for
-- all of them, or for any). A task that is not blocked at this place no longer waits, or is another task with that id.
-- What each of them needs is read and written once. What becomes ready goes into the batch.
local function tell_waiting(ctx, batch)
  local tells = batch.tells
  if not tells[1] then return end
  batch.tells = {}
  local waits, ids, over = {}, {}, {}
  for _, tell in ipairs(tells) do
    if not waits[tell[1]] then ids[#ids + 1], waits[tell[1]] = tell[1], {} end
  end
  for i, score in ipairs(redis.call('ZMSCORE', blocked, unpack(ids))) do waits[ids[i]].score = score end  -- at most 2,000: two for each of the limit of propagate_ends
  for _, tell in ipairs(tells) do
    local id, how = tell[1], tell[3]
    local one = waits[id]
    if one.score and one.score % BAND == tonumber(tell[2]) then
      one.own = one.own or redis.call('HMGET', task .. id, 'after_when', 'after_any', 'lane', 'delay_ms', 'run_after_ms', 'ties',
        'user', 'limited_by', 'awaits')
      local own = one.own
      if not own[8] then  -- else it waits only for a limit
        local good = own[1] == 'ended' or (how == 'c') == (own[1] ~= 'failed')
        local decisive = good == (own[2] == '1')
        if not decisive then one.awaits = (one.awaits or tonumber(own[9]) or 0) - 1 end
        if decisive or one.awaits <= 0 then
          end_wait(ctx, id, good, one, batch)
          over[#over + 1], one.score = id, nil
        end
      end
    end
  end
  for _, id in ipairs(ids) do
    local one = waits[id]
    if one.score and one.awaits then redis.call('HSET', task .. id, 'awaits', one.awaits) end
  end
  if over[1] then redis.call('ZREM', blocked, unpack(over)) end  -- at most 2,000: as above
end
