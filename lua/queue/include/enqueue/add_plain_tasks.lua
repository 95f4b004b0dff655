-- add_plain_tasks(ids, data, envelopes, keys, stamps, now_text, events_max): the usual case of add_tasks: new tasks of lane
-- `any` with the usual priority, of which everything else is only stored. It sends the same commands. keys: of their records.
local function add_plain_tasks(ids, data, envelopes, keys, stamps, now_text, events_max)
  local score = redis.call('HINCRBY', config, 'place', #ids) - #ids + 5 * BAND
  local created, answers, payloads, members = { 'created' }, {}, {}, {}
  for i = 1, #ids do
    redis.call('HSET', keys[i], 'rid', stamps[i], 'created_ms', now_text, unpack(envelopes[i]))  -- at most 6: three pairs
    if #data[i] > 1024 then redis.call('HSET', keys[i], 'size', #data[i]) end
    answers[i] = created
    payloads[2 * i - 1] = payload .. ids[i]  -- one by one: Lua would fill a list from the right, and move it often
    payloads[2 * i] = data[i]
    members[2 * i - 1] = score + i
    members[2 * i] = ids[i]
  end
  redis.call('MSET', unpack(payloads))  -- at most 2,000: two for each item
  local there = redis.call('EXISTS', ready .. 'any', wake .. 'any')
  redis.call('ZADD', ready .. 'any', unpack(members))  -- at most 2,000: likewise
  if there < 2 then  -- otherwise `lanes` has the lane already
    redis.call('SADD', lanes, 'any')
    if there == 0 or redis.call('EXISTS', wake .. 'any') == 0 then redis.call('LPUSH', wake .. 'any', '1') end
  end
  redis.call('XADD', events, 'MAXLEN', '~', events_max, '*', 'event', 'task.enqueued', 'timestamp', now_text,
    'id', table.concat(ids, ' '))
  redis.call('HINCRBY', counters, 'enqueued', #ids)
  return answers
end
