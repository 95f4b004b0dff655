-- kept_for(conf, limit): the task for which this limit keeps its next free turn, or nil. `reserved` in config names that task, one
-- for each queue (see reserve). The limits of the task keep a turn one after the other: each only while all before it have room.
-- So a turn is unused only while the limits behind it get one free. The reservation counts while the task waits for a limit, and
-- for 30 s after it was let go, until a worker takes it; what is left of another counts for nothing.
-- NEEDS config blocked ready read_limits room_left
local function kept_for(conf, limit)
  if conf.reserved == nil then
    conf.reserved = false
    local until_ms, rest = string.match(redis.call('HGET', config, 'reserved') or '', '^(%d+) (.+)$')
    local score, id, lane, words = string.match(rest or '', '^(%S+) (%S+) (%S+) (%S+)$')
    local waits = until_ms == '0' and blocked or ready .. (lane or '')
    if id and (until_ms == '0' or tonumber(until_ms) >= conf.now) and redis.call('ZSCORE', waits, id) == score then
      local keys, at = {}, {}
      for key in string.gmatch(words, '[^,]+') do
        keys[#keys + 1] = key
        at[key] = #keys
      end
      read_limits(conf, keys)
      conf.reserved = { id = id, score = tonumber(score), keys = keys, at = at, rest = rest }
    end
  end
  local first = conf.reserved
  local at = first and first.at[limit.key]
  if not at or limit.policy ~= 'queue' then return end
  for i = 1, at - 1 do
    local before = conf.limit[first.keys[i]]
    if before and room_left(conf, before) == 0 then return end
  end
  return first
end
