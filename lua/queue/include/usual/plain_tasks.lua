-- plain_tasks(now, now_text, wanted): the next tasks, if only one of these lanes has tasks, and they need no more than a
-- lease; otherwise nil. found: the lane, its next ids and scores, the leases without token and fence, the entries of
-- `running` without these and the worker, and how long the tasks have waited.
local function plain_tasks(now, now_text, wanted)
  local lane, page = nil, {}
  for i = 1, #wanted do
    local some = redis.call('ZRANGE', ready .. wanted[i], '0', limit, 'WITHSCORES')
    if some[1] and lane then return nil end
    if some[1] then lane, page = wanted[i], some end
  end
  local match, count, bytes, leased, held, payloads, waits = string.match, math.min(limit, #page / 2), 0, {}, {}, {}, {}
  if count > 100 then return nil end  -- if one of them is unusual, all are read again
  for i = 1, count do
    local id = page[2 * i - 1]
    local record = redis.call('HGETALL', task .. id)  -- at most 70: fields of a record
    local attempt, delivery, crashes, created_ms, ready_ms, tied, stored = 1, 1, '0', nil, nil, '', nil
    for f = 1, #record, 2 do
      local name, value = record[f], record[f + 1]
      bytes = bytes + #value
      if name == 'created_ms' then created_ms = value
      elseif name == 'ready_ms' then ready_ms = value
      elseif name == 'attempts' then attempt = value + 1
      elseif name == 'crashes' then crashes = value
      elseif name == 'deliveries' then delivery = value + 1
      elseif name == 'size' then bytes = bytes + value
      elseif name == 'ties' then tied = ' ties'
      elseif name == 'trace' or name == 'scope' or name == 'expires_at_ms' or name == 'fallback_after_ms' then return nil
      elseif name == 'durable' then stored = tonumber(match(value, '^%d+ (%d+)$'))
      end
    end
    bytes = bytes + 2048
    if stored then
      add_steps(record, id, stored)
      bytes = bytes + math.min(65536, stored)
    end
    if not created_ms or bytes > 4194304 then return nil end
    local runs = delivery == 1 and '1 1 0' or attempt .. ' ' .. delivery .. ' ' .. crashes
    payloads[i], waits[i] = payload .. id, now - (ready_ms or created_ms)
    leased[i] = { 'leased', id, '', 0, attempt, delivery, '', record }
    held[2 * i - 1] = id
    held[2 * i] = ' ' .. page[2 * i] .. ' ' .. lane .. tied .. '|' .. now_text .. ' ' .. runs .. ' '
  end
  if count > 0 then payloads = redis.call('MGET', unpack(payloads)) end  -- at most 100: see above
  for i = 1, count do
    if not payloads[i] then return nil end
    leased[i][7] = payloads[i]
  end
  return { lane = lane, page = page, leased = leased, held = held, waits = waits }
end
