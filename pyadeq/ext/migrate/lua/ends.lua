-- ends.lua: from where a place is taken, and to where it goes back. A place of the kind `right` or `left` is a list, from
-- that end of which the old workers take. One of the kind `times` is a sorted set by the time in seconds, and one of the
-- kind `ms` by that in milliseconds; their messages are `<score> <member>`. While the key `guard` exists, a program of
-- the old system enqueues what is due. So only what is due in more than a minute is taken then.
-- One of the kind `stream` is a stream. Its messages are the fields of the entries that GROUP was not yet given.

local GROUP = 'ade-workers'
local POP, PUSH, TOP = { right = 'RPOP', left = 'LPOP' }, { right = 'RPUSH', left = 'LPUSH' }, { right = -1, left = 0 }

-- Each field as <length>:<bytes>.
local function packed(fields)
  local parts = {}
  for i, field in ipairs(fields) do parts[i] = #field .. ':' .. field end
  return table.concat(parts)
end

local function unpacked(message)
  local fields, at = {}, 1
  while at <= #message do  -- at most the bytes of a message
    local colon = string.find(message, ':', at, true)
    local last = colon + tonumber(string.sub(message, at, colon - 1))
    fields[#fields + 1] = string.sub(message, colon + 1, last)
    at = last + 1
  end
  return fields
end

local from_id

-- The id and the fields of the first entry that waits in a stream.
local function first_entry(place)
  if not from_id then
    from_id = '-'
    local groups = redis.call('EXISTS', place) == 1 and redis.call('XINFO', 'GROUPS', place) or {}
    for _, group in ipairs(groups) do
      local about = {}
      for i = 1, #group, 2 do about[group[i]] = group[i + 1] end
      if about.name == GROUP then from_id = '(' .. about['last-delivered-id'] end
    end
  end
  local entry = redis.call('XRANGE', place, from_id, '+', 'COUNT', 1)[1]
  if entry then return entry[1], entry[2] end
end

local function is_set(kind)
  return kind == 'times' or kind == 'ms'
end

local function top(kind, place)
  if kind ~= 'stream' then return redis.call('LINDEX', place, TOP[kind]) end
  local id, fields = first_entry(place)
  return id and packed(fields)
end

local function pop(kind, place, guard)
  if POP[kind] then return redis.call(POP[kind], place) end
  if kind == 'stream' then
    local id, fields = first_entry(place)
    if not id or #fields > 1000 then return false end  -- an entry of another program: it stays, and what is behind it
    redis.call('XDEL', place, id)
    return packed(fields)
  end
  local from = '-inf'
  if redis.call('EXISTS', guard) == 1 then
    from = string.format('(%.0f', (redis.call('TIME')[1] + 60) * (kind == 'ms' and 1000 or 1))
  end
  local found = redis.call('ZRANGEBYSCORE', place, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if not found[1] then return false end
  redis.call('ZREM', place, found[1])
  return found[2] .. ' ' .. found[1]
end

local function push(kind, place, message)
  if PUSH[kind] then return redis.call(PUSH[kind], place, message) end
  if kind == 'stream' then
    local fields = unpacked(message)
    return redis.call('XADD', place, '*', unpack(fields))  -- at most 1,000: entries with more are not taken
  end
  local score, member = string.match(message, '^(%S+) (.*)$')
  redis.call('ZADD', place, score, member)
end
