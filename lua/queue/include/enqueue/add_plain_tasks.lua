-- add_plain_tasks(ids, data, envelopes, stamps, keys, now, now_text, row, held): the usual case of add_tasks: new tasks of lane
-- `any`, of whose pairs only `user`, `priority`, `timeout_ms` and `result_ms` are more than stored, and idempotency keys, if
-- `held` has them. It sends the same commands, and makes no functions for them. keys: of the records. held: see new_keys.
local function add_plain_tasks(ids, data, envelopes, stamps, keys, now, now_text, row, held)
  local score = redis.call('HINCRBY', config, 'place', #ids) - #ids
  local created, of_call, of_user = { 'created' }, nil, nil
  local events_max = row.settings.events_max or 'DEFAULT_events_max'
  local answers, payloads, members = { nil }, { nil, nil }, { nil, nil }  -- with room for one task, as most calls have
  if source .. trace ~= '' then
    of_call = { 'event', 'task.enqueued', 'timestamp', now_text, 'id', table.concat(ids, ' ') }
    if source ~= '' then of_call[7], of_call[8] = 'source', source end
    if trace ~= '' then of_call[#of_call + 1] = 'trace'; of_call[#of_call + 1] = trace end
  end
  for i = 1, #ids do
    local id, own, size, stamp = ids[i], envelopes[i], #data[i], stamps[i]
    if of_call and not own.marked then  -- once: items without pairs share a table
      for at = own.source and source ~= '' and 9 or 7, #of_call do own[#own + 1] = of_call[at] end
      own.marked = true
    end
    if own.timeout_ms or own.result_ms then own[#own + 1] = 'ties'; own[#own + 1] = '1' end
    -- at most 32: thirteen pairs, and source, trace and ties
    if size > 1024 then redis.call('HSET', keys[i], 'rid', stamp, 'created_ms', now_text, 'size', size, unpack(own)) end
    if size <= 1024 then redis.call('HSET', keys[i], 'rid', stamp, 'created_ms', now_text, unpack(own)) end
    if own.user then
      of_user = of_user or {}
      local some = of_user[own.user] or {}
      of_user[own.user], some[#some + 1] = some, now_text
      some[#some + 1] = id
    end
    answers[i] = created
    payloads[2 * i - 1] = payload .. id  -- one by one: Lua would fill a list from the right, and move it often
    payloads[2 * i] = data[i]
    members[2 * i - 1] = (own.priority or 5) * BAND + score + i
    members[2 * i] = id
  end
  -- at most 2,000: two for each item
  redis.call('MSET', unpack(payloads))
  if of_user then
    -- at most 2,000: two for each item
    for user, some in pairs(of_user) do redis.call('ZADD', by_user .. user, unpack(some)) end
  end
  local there = redis.call('EXISTS', ready .. 'any', wake .. 'any')
  redis.call('ZADD', ready .. 'any', unpack(members))  -- at most 2,000: two for each item
  if there < 2 then  -- otherwise `lanes` has the lane already
    redis.call('SADD', lanes, 'any')
    local has_token = there == 1 and redis.call('EXISTS', wake .. 'any') == 1
    if has_token then redis.call('PERSIST', wake .. 'any') end  -- of an empty lane: see push_wake
    if not has_token then redis.call('LPUSH', wake .. 'any', '1') end
  end
  if of_call then
    redis.call('XADD', events, 'MAXLEN', '~', events_max, '*', unpack(of_call))  -- at most 10: fields of an event
  else
    redis.call('XADD', events, 'MAXLEN', '~', events_max, '*', 'event', 'task.enqueued', 'timestamp', now_text,
      'id', #ids == 1 and ids[1] or table.concat(ids, ' '))
  end
  if held then hold_new_keys(now, held) end
  redis.call('HINCRBY', counters, 'enqueued', #ids)
  return answers
end
