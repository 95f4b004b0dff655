-- promote_due(conf, limit, tally): move tasks whose time has come into line, at its end, the earliest first.
-- NEEDS config task delayed emit make_ready
local function promote_due(conf, limit, tally)
  local ids = redis.call('ZRANGE', delayed, '-inf', conf.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #ids == 0 then return 0 end
  local place = redis.call('HINCRBY', config, 'place', #ids) - #ids
  local by_lane = {}
  for i, id in ipairs(ids) do
    local own = redis.call('HMGET', task .. id, 'lane', 'priority')
    local lane = own[1] or 'any'
    local members = by_lane[lane] or {}
    by_lane[lane] = members
    members[#members + 1] = tonumber(own[2] or 5) * 281474976710656 + place + i
    members[#members + 1] = id
    redis.call('HSET', task .. id, 'ready_ms', conf.now_text)
  end
  redis.call('ZREM', delayed, unpack(ids))
  make_ready(by_lane)
  emit(conf, 'task.promoted', table.concat(ids, ' '), '')
  tally.promoted = (tally.promoted or 0) + #ids
  return #ids
end
